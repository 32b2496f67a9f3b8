// The Bessel function of the first kind of order n.  jnf() is NaN next to 0 for orders above 1.
static __device__ __forceinline__ float bessel_jn(int n, float x)
{
    return n > 1 && fabsf(x) < 1e-30f ? 0.0f : jnf(n, x);
}
