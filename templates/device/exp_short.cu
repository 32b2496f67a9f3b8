// exp(x) within 2^-16 of its value: rounding the product costs no more.
static __device__ __forceinline__ float exp_short(float x)
{
    return exp2f(1.44269504f * x);
}
