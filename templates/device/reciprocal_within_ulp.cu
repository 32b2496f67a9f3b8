// 1 / b within 1 ulp, for quotient_ends(); NaN where b is so small or large that a step might underflow or overflow.
static __device__ __forceinline__ float reciprocal_within_ulp(float b)
{
    return fabsf(b) > 1e-10f && fabsf(b) < 1e12f ? reciprocal_approx(b) : __int_as_float(0x7fffffff);
}
