// The Bessel function of the first kind of order n.  jn() is NaN next to 0 for orders above 1.
static __device__ __forceinline__ double bessel_jn(int n, double x)
{
    return n > 1 && fabs(x) < 1e-300 ? 0.0 : jn(n, x);
}
