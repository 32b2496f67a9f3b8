// a / b, rounded to nearest unless below 2^-100, where b is at least 1, or NaN.  Both are scaled, since 1 / b is no
// normal number for the largest b.
static __device__ __forceinline__ float divide_by_large(float a, float b)
{
    const float dividend = 0.25f * a, divisor = 0.25f * b, near = reciprocal_approx(divisor);
    const float q = dividend * near, rest = fmaf(-q, divisor, dividend), nearer = fmaf(rest, near, q);
    return fabsf(rest) > 0.0f ? fmaf(fmaf(-nearer, divisor, dividend), near, nearer) : q;  // not infinite
}
