// The product of two complex numbers, without fma: times(a, b) and times(b, a) have the same bits.
static __device__ __forceinline__ double2 times(double2 a, double2 b)
{
    return make_double2(__dsub_rn(__dmul_rn(a.x, b.x), __dmul_rn(a.y, b.y)),
                        __dadd_rn(__dmul_rn(a.x, b.y), __dmul_rn(a.y, b.x)));
}
