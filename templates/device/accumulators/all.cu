// Whether all elements are true.
struct All {
    int value;

    static __device__ __forceinline__ All identity() { return {1}; }

    __device__ __forceinline__ void add(bool x) { value &= x; }
    __device__ __forceinline__ void merge(const All& other) { value &= other.value; }

    // The state of the thread whose number differs by the bit `d`.
    __device__ __forceinline__ All shuffled(int d) const { return {__shfl_xor_sync(0xffffffffu, value, d)}; }

    __device__ __forceinline__ bool result() const { return value != 0; }
};
