// A product of complex numbers.  merge gives the same bits in either order.
template <typename Z>
struct ComplexProduct {
    Z product;

    static __device__ __forceinline__ ComplexProduct identity() { return {{1, 0}}; }

    __device__ __forceinline__ void add(Z z) { product = times(product, z); }
    __device__ __forceinline__ void merge(const ComplexProduct& other) { product = times(product, other.product); }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ ComplexProduct shuffle_xor(int d) const
    {
        return {{__shfl_xor_sync(0xffffffffu, product.x, d), __shfl_xor_sync(0xffffffffu, product.y, d)}};
    }

    __device__ __forceinline__ Z result() const { return product; }
};
