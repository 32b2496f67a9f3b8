// Whether all elements are true.
struct All {
    int value;

    static __device__ __forceinline__ All identity() { return {1}; }

    __device__ __forceinline__ void add(bool x) { value &= x; }
    __device__ __forceinline__ void merge(const All& other) { value &= other.value; }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ All shuffle_xor(int d) const { return {__shfl_xor_sync(0xffffffffu, value, d)}; }

    __device__ __forceinline__ bool result() const { return value != 0; }
};
