// min(a, b); NaN if either is, and -0.0 < +0.0.
static __device__ __forceinline__ double nan_min(double a, double b)
{
    if (a == b) return __longlong_as_double(__double_as_longlong(a) | __double_as_longlong(b));
    return a < b || a != a ? a : b;
}
