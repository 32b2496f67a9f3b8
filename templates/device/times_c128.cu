// The product of two complex numbers.  Nothing is contracted, so that a times b is b times a.
static __device__ __forceinline__ double2 times(double2 a, double2 b)
{
    return make_double2(__dsub_rn(__dmul_rn(a.x, b.x), __dmul_rn(a.y, b.y)),
                        __dadd_rn(__dmul_rn(a.x, b.y), __dmul_rn(a.y, b.x)));
}
