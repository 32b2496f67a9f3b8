// The minimum of some integers, kept in at least 4 bytes.
template <typename T>
struct IntegerMin {
    decltype(+T()) value;

    static __device__ __forceinline__ IntegerMin identity() { return {highest<T>()}; }

    __device__ __forceinline__ void add(T x) { value = min(value, x); }
    __device__ __forceinline__ void merge(const IntegerMin& other) { value = min(value, other.value); }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ IntegerMin shuffle_xor(int d) const { return {__shfl_xor_sync(0xffffffffu, value, d)}; }

    __device__ __forceinline__ T result() const { return (T)value; }
};
