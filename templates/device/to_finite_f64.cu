// x, or the largest finite value for an infinity, whose bits are one less.
static __device__ __forceinline__ double to_finite(double x)
{
    return isinf(x) ? __longlong_as_double(__double_as_longlong(x) - 1) : x;
}
