// 1 / b for divide(); NaN where b is so small or large that a step might underflow or overflow.
static __device__ __forceinline__ float reciprocal(float b)
{
    return fabsf(b) > 1e-10f && fabsf(b) < 1e12f ? 1.0f / b : __int_as_float(0x7fffffff);
}
