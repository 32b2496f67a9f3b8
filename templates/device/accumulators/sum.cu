// A sum of floats, or of their squares.
template <typename T>
struct Sum {
    T sum;

    static __device__ __forceinline__ Sum identity() { return {0}; }

    __device__ __forceinline__ void add(T x) { sum += x; }
    __device__ __forceinline__ void add_square(T x) { sum += x * x; }
    __device__ __forceinline__ void merge(const Sum& other) { sum += other.sum; }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ Sum shuffle_xor(int d) const { return {__shfl_xor_sync(0xffffffffu, sum, d)}; }

    __device__ __forceinline__ T result() const { return sum; }
    __device__ __forceinline__ T norm() const { return sqrt(sum); }

    template <typename Count>
    __device__ __forceinline__ T mean(Count count) const { return sum / (T)count; }
};
