// The maximum of some integers, kept in at least 4 bytes.
template <typename T>
struct IntegerMax {
    decltype(+T()) value;

    static __device__ __forceinline__ IntegerMax identity() { return {lowest<T>()}; }

    __device__ __forceinline__ void add(T x) { value = max(value, x); }
    __device__ __forceinline__ void merge(const IntegerMax& other) { value = max(value, other.value); }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ IntegerMax shuffle_xor(int d) const { return {__shfl_xor_sync(0xffffffffu, value, d)}; }

    __device__ __forceinline__ T result() const { return (T)value; }
};
