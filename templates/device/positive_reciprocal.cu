// 1 / b for quotient(); NaN where b is negative, or so small or large that a step might underflow or overflow.
static __device__ __forceinline__ float positive_reciprocal(float b)
{
    return b > 1e-10f && b < 1e12f ? 1.0f / b : __int_as_float(0x7fffffff);
}
