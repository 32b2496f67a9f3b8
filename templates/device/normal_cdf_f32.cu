// The standard normal distribution function.  The tail below -t is exp(-t * t / 2), as a power of 2 whose exponent is
// n + f with the rounding of t * t, times a polynomial in s = t / (1 + 7 t / 16).  Its coefficients are times 2^-64,
// and the power is times 2^64, so that results below 2^-126 are rounded once.
static __device__ __forceinline__ float normal_cdf(float x)
{
    const float t = fminf(fabsf(x), 15.0f);
    const float v = reciprocal_approx(fmaf(0.4375f, fabsf(x), 1.0f));  // of x, which may be NaN
    const float s = t * v;
    float p = -5.24525991e-25f;
    p = fmaf(p, s, 4.39204462e-24f);
    p = fmaf(p, s, -1.32128987e-23f);
    p = fmaf(p, s, 2.06137953e-23f);
    p = fmaf(p, s, -3.20623806e-23f);
    p = fmaf(p, s, 9.38970801e-24f);
    p = fmaf(p, s, 7.90759157e-23f);
    p = fmaf(p, s, 4.3167842e-22f);
    p = fmaf(p, s, -1.82945288e-22f);
    p = fmaf(p, s, -9.76823563e-21f);
    p = fmaf(p, s, 2.71050543e-20f);
    const float square = t * t;
    const float with_n = fmaf(square, -0.721347511f, 12582976.0f);  // its last bits are n + 64
    const float n = with_n - 12582976.0f;
    float f = fmaf(square, -0.721347511f, -n);
    f = fmaf(square, -9.62981517e-9f, f);
    f = fmaf(fmaf(t, t, -square), -0.721347511f, f);
    const float e = __uint_as_float(__float_as_uint(exp2_approx(f)) + (__float_as_uint(with_n) << 23));
    const float tail = e * (v * p);
    return x < 0.0f ? tail : 1.0f - tail;
}
