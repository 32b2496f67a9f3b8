// -1, 0 or 1; NaN for NaN.
template <typename T>
static __device__ __forceinline__ T float_sign(T x)
{
    return x != x ? x : (T)((0 < x) - (x < 0));
}
