// How many elements are not 0.
struct Count {
    long long count;

    static __device__ __forceinline__ Count identity() { return {0}; }

    __device__ __forceinline__ void add(bool x) { count += x; }
    __device__ __forceinline__ void merge(const Count& other) { count += other.count; }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ Count shuffle_xor(int d) const { return {__shfl_xor_sync(0xffffffffu, count, d)}; }

    __device__ __forceinline__ long long result() const { return count; }
};
