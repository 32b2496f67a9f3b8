// Two floats between which a / b lies once it is rounded to float; r = reciprocal_within_ulp(b) is not NaN.  Without
// UseReciprocal, both are that quotient (P. Markstein, 1990), or one that is rounded to 0 or saturated as well.
template <bool UseReciprocal>
static __device__ __forceinline__ float2 quotient_ends(float a, float b, float r)
{
    if (UseReciprocal) {
        return make_float2(a * (r * (1 - 0x1p-21f)), a * (r * (1 + 0x1p-21f)));
    }
    const float inverse = reciprocal(b), q = a * inverse;
    const bool is_moderate = q != 0 && fabsf(q) < 1e30f;
    const float near = is_moderate ? fmaf(fmaf(-q, b, a), inverse, q) : q;
    const float quotient = inverse == inverse ? near : a / b;
    return make_float2(quotient, quotient);
}
