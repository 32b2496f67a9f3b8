// The standard normal distribution function within 2^-16 of its value: the tail below -|x| is exp(-x * x / 2) times a
// polynomial in v = 1 / (1 + 0.3 |x|).
static __device__ __forceinline__ float normal_cdf_fast(float x)
{
    const float v = reciprocal_approx(fmaf(0.3f, fabsf(x), 1.0f));
    float p = -0.0775065348f;
    p = fmaf(p, v, 0.217266619f);
    p = fmaf(p, v, -0.0183527619f);
    p = fmaf(p, v, 0.14495337f);
    p = fmaf(p, v, 0.113550872f);
    p = fmaf(p, v, 0.120092191f);
    const float tail = exp2f(-0.72134752f * (x * x)) * v * p;
    return x < 0.0f ? tail : 1.0f - tail;
}
