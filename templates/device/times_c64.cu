// The product of two complex numbers.  Nothing is contracted, so that a times b is b times a.
static __device__ __forceinline__ float2 times(float2 a, float2 b)
{
    return make_float2(__fsub_rn(__fmul_rn(a.x, b.x), __fmul_rn(a.y, b.y)),
                       __fadd_rn(__fmul_rn(a.x, b.y), __fmul_rn(a.y, b.x)));
}
