// a / b, rounded to nearest unless below 2^-100, where b is at least 1, or NaN.  Both are scaled, since 1 / b is no
// normal number for the largest b.
static __device__ __forceinline__ float divide_by_large(float a, float b)
{
    const float dividend = 0.25f * a, divisor = 0.25f * b, estimate = reciprocal_approx(divisor);
    const float q = dividend * estimate, rest = fmaf(-q, divisor, dividend), refined = fmaf(rest, estimate, q);
    return fabsf(rest) > 0.0f ? fmaf(fmaf(-refined, divisor, dividend), estimate, refined) : q;  // not infinite
}
