// The minimum of some floats; NaN if any is.
template <typename T>
struct Min {
    T value;

    static __device__ __forceinline__ Min identity() { return {highest<T>()}; }

    __device__ __forceinline__ void add(T x) { value = nan_min(value, x); }
    __device__ __forceinline__ void merge(const Min& other) { value = nan_min(value, other.value); }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ Min shuffle_xor(int d) const { return {__shfl_xor_sync(0xffffffffu, value, d)}; }

    __device__ __forceinline__ T result() const { return value; }
};
