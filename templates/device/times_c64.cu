// The product of two complex numbers, without fma: times(a, b) and times(b, a) have the same bits.
static __device__ __forceinline__ float2 times(float2 a, float2 b)
{
    return make_float2(__fsub_rn(__fmul_rn(a.x, b.x), __fmul_rn(a.y, b.y)),
                       __fadd_rn(__fmul_rn(a.x, b.y), __fmul_rn(a.y, b.x)));
}
