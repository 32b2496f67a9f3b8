// The standard normal distribution function.  The tail below -t is exp(-t * t / 2), corrected for the rounding of the
// square, times a polynomial in u = t / (t + 16 / 7).
static __device__ __forceinline__ float normal_cdf(float x)
{
    const float t = fabsf(x) > 15.0f ? 15.0f : fabsf(x);
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
    const float square = t * t;
    const float e = expf(-0.5f * square);
    const float tail = fmaf(e, -0.5f * fmaf(t, t, -square), e) * v * p;
    return x < 0.0f ? tail : 1.0f - tail;
}
