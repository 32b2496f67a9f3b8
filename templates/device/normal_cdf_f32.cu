// The standard normal distribution function.  The tail below -t is exp(-x * x / 2), corrected for the rounding of the
// exponent, times a polynomial in u = t / (t + 16 / 7).  A density beside it, exp(-0.5 * x * x), is computed once.
static __device__ __forceinline__ float normal_cdf(float x)
{
    const float t = fminf(fabsf(x), 15.0f);
    const float d = fmaf(0.4375f, t, 1.0f);
    const float v = reciprocal_approx(d);
    const float u = 0.4375f * t * v;
    float p = -0.0379580781f;
    p = fmaf(p, u, 0.139328584f);
    p = fmaf(p, u, -0.184268996f);
    p = fmaf(p, u, 0.126904964f);
    p = fmaf(p, u, -0.0863507986f);
    p = fmaf(p, u, 0.0116685089f);
    p = fmaf(p, u, 0.0395830348f);
    p = fmaf(p, u, 0.095130153f);
    p = fmaf(p, u, -0.0176346935f);
    p = fmaf(p, u, -0.411867619f);
    p = fmaf(p, u, 0.5f);
    const float h = -0.5f * x;
    const float exponent = h * x;
    const float rounded_off = fminf(fmaf(h, x, -exponent), 1.0f);  // far below 1, but for NaN beside infinity
    const float e = expf(exponent);
    const float tail = fmaf(e, rounded_off, e) * v * p;
    return x < 0.0f ? tail : 1.0f - tail;
}
