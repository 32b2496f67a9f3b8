// a / b, rounded to nearest, where r = reciprocal(b) is not NaN.  Sets is_exact to false where that needs a
// division; the caller then computes the group again with UseReciprocal = false.
template <bool UseReciprocal>
static __device__ __forceinline__ float divide(float a, float b, float r, bool& is_exact)
{
    if (!UseReciprocal) {
        return a / b;
    }
    // 2^-66 <= |q| < 2^119: no step underflows or overflows (P. Markstein, 1990).
    const float q = a * r, rounded = fmaf(fmaf(-q, b, a), r, q);
    const bool is_zero = a == 0;
    is_exact = is_exact & ((2 * __float_as_uint(q) - 0x3d000000u < 0xb9000000u) | is_zero);
    return is_zero ? q : rounded;  // -0 / b is -0; the fma would give +0
}
