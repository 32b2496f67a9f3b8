// x, or 0 for NaN: CUDA converts NaN to 0 for some integer types only.
template <typename T>
static __device__ __forceinline__ T nan_to_zero(T x)
{
    return x == x ? x : 0;
}
