// x, or the largest finite value for an infinity, whose bits are one less.
static __device__ __forceinline__ float to_finite(float x)
{
    return isinf(x) ? __int_as_float(__float_as_int(x) - 1) : x;
}
