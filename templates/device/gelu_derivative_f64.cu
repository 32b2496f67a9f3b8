// The derivative of gelu, normcdf(x) + x * exp(-x * x / 2) / sqrt(2 pi).
static __device__ __forceinline__ double gelu_derivative(double x)
{
    const double exponent = -0.5 * x * x;
    const double rounded_off = fmin(fma(-0.5 * x, x, -exponent), 1.0);  // far below 1, but for NaN beside infinity
    const double e = exp(exponent);
    return fma(0.3989422804014327 * x, fma(e, rounded_off, e), normcdf(x));
}
