// a / b, rounded to nearest unless below 2^-100, where b is 1 + x for an x from 0 to 1, or NaN.
static __device__ __forceinline__ float divide_by_one_plus(float a, float b)
{
    const float estimate = reciprocal_approx(b), r = fmaf(estimate, fmaf(-estimate, b, 1.0f), estimate);
    const float q = a * r, rest = fmaf(-q, b, a);
    return fabsf(rest) > 0.0f ? fmaf(rest, r, q) : q;  // not where a is infinite
}
