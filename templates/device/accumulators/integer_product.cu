// A product of integers that wraps: computed unsigned, because signed overflow is undefined.
template <typename T>
struct IntegerProduct {
    unsigned long long product;

    static __device__ __forceinline__ IntegerProduct identity() { return {1}; }

    __device__ __forceinline__ void add(T x) { product *= (unsigned long long)x; }
    __device__ __forceinline__ void merge(const IntegerProduct& other) { product *= other.product; }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ IntegerProduct shuffle_xor(int d) const
    {
        return {__shfl_xor_sync(0xffffffffu, product, d)};
    }

    __device__ __forceinline__ T result() const { return (T)product; }
};
