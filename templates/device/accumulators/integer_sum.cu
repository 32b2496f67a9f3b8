// A sum of integers that wraps: computed unsigned, because signed overflow is undefined.
template <typename T>
struct IntegerSum {
    unsigned long long sum;

    static __device__ __forceinline__ IntegerSum identity() { return {0}; }

    __device__ __forceinline__ void add(T x) { sum += (unsigned long long)x; }
    __device__ __forceinline__ void merge(const IntegerSum& other) { sum += other.sum; }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ IntegerSum shuffle_xor(int d) const { return {__shfl_xor_sync(0xffffffffu, sum, d)}; }

    __device__ __forceinline__ T result() const { return (T)sum; }

    template <typename Count>
    __device__ __forceinline__ double mean(Count count) const { return (double)(T)sum / (double)count; }
};
