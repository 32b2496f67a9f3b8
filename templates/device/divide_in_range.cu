// a / b, rounded to nearest (P. Markstein, 1990), where both are 0, not finite, or neither tiny nor huge.
static __device__ __forceinline__ float divide_in_range(float a, float b)
{
    const float estimate = reciprocal_approx(b), r = fmaf(estimate, fmaf(-estimate, b, 1.0f), estimate);
    const float q = a * r, rest = fmaf(-q, b, a);
    return fabsf(rest) < fabsf(a) ? fmaf(rest, r, q) : a * estimate;  // zeros, infinities and NaN leave no smaller rest
}
