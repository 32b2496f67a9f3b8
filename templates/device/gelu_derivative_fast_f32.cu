// The derivative of gelu within 2^-16 of its value.  That of -|x| is exp(-x * x / 2) times a polynomial in
// v = 1 / (1 + 0.5 |x|) and a factor for its zero at -0.7518, both scaled so that no exponential is subnormal.
static __device__ __forceinline__ float gelu_derivative_fast(float x)
{
    const float t = fabsf(x);
    const float v = reciprocal_approx(fmaf(0.5f, t, 1.0f));
    float p = 2.9267566e-09f;
    p = fmaf(p, v, -1.1233249e-08f);
    p = fmaf(p, v, 1.065959e-08f);
    p = fmaf(p, v, 1.0276141e-08f);
    p = fmaf(p, v, 1.6732683e-08f);
    p = fmaf(p, v, 4.399053e-08f);
    const float e = exp2_approx(fmaf(-0.721347520f, x * x, 24.0f));
    const float tail = fmaf(-0.540426850f, t, 0.406288326f) * p * e;
    return x < 0.0f ? tail : 1.0f - tail;
}
