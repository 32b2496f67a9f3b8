// x, but 0 for NaN, which CUDA converts to 0 in some integer types only.
template <typename T>
static __device__ __forceinline__ T nan_to_zero(T x)
{
    return x == x ? x : 0;
}
