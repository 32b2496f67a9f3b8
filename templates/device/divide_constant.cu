// a / c, rounded to nearest, where high + low is 1 / c to 46 bits and c has at most 20 significant bits: no quotient is
// within 2^-45 of a tie.  a is an integer, or has fewer exponent bits than a float, so that low * a is no subnormal.
static __device__ __forceinline__ float divide_constant(float a, float high, float low)
{
    return fmaf(a, high, a * low);
}
