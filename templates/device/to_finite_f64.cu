// x, but the largest finite value for an infinity (whose bits come right after it).
static __device__ __forceinline__ double to_finite(double x)
{
    return isinf(x) ? __longlong_as_double(__double_as_longlong(x) - 1) : x;
}
