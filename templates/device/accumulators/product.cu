// A product of floats.
template <typename T>
struct Product {
    T product;

    static __device__ __forceinline__ Product identity() { return {1}; }

    __device__ __forceinline__ void add(T x) { product *= x; }
    __device__ __forceinline__ void merge(const Product& other) { product *= other.product; }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ Product shuffle_xor(int d) const { return {__shfl_xor_sync(0xffffffffu, product, d)}; }

    __device__ __forceinline__ T result() const { return product; }
};
