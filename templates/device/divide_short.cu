// a / b, rounded to nearest, where both are integers or have fewer exponent bits than a float, and b has at most 16
// significant bits: rest is exact, and no quotient is within 2^-17 ulp of a tie.
static __device__ __forceinline__ float divide_short(float a, float b)
{
    const float estimate = reciprocal_approx(b), q = a * estimate, rest = fmaf(-q, b, a);
    return fabsf(rest) > 0.0f ? fmaf(rest, estimate, q) : q;  // zeros, infinities and NaN leave no rest
}
