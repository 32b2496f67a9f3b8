// The derivative of gelu, normcdf(x) + x * exp(-x * x / 2) / sqrt(2 pi).  That of -|x| is exp(-x * x / 2), corrected
// for the rounding of the exponent, times a polynomial in v = 1 / (1 + 0.35 |x|) and a factor for its zero at -0.7518.
static __device__ __forceinline__ float gelu_derivative(float x)
{
    const float t = fabsf(x);
    const float v = reciprocal_approx(fmaf(0.35f, t, 1.0f));
    float p = -0.012158049f;
    p = fmaf(p, v, 0.07564337f);
    p = fmaf(p, v, -0.17142437f);
    p = fmaf(p, v, 0.13961853f);
    p = fmaf(p, v, -0.009612672f);
    p = fmaf(p, v, 0.12439084f);
    p = fmaf(p, v, 0.15141891f);
    p = fmaf(p, v, 0.19459309f);
    p = fmaf(p, v, 0.7381835f);
    const float square = x * x;
    const float exponent = -0.721347520f * square;  // of 2
    float rounded_off = fmaf(-0.721347520f, square, -exponent);
    rounded_off = fmaf(-9.62981517e-9f, square, rounded_off);
    rounded_off = fmaf(-0.721347520f, fmaf(x, x, -square), rounded_off);
    rounded_off = 0.693147181f * fminf(rounded_off, 1.0f);  // far below 1, but for NaN beside infinity
    const float nearly = exp2f(exponent);
    const float e = fmaf(nearly, rounded_off, nearly);
    return fmaf(x < 0.0f ? e : -e, fmaf(-0.540426850f, t, 0.406288326f) * p, x < 0.0f ? 0.0f : 1.0f);
}
