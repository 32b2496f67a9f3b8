// a / b, rounded to nearest (P. Markstein, 1990), with r = positive_reciprocal(b), which is not NaN; NaN where a step
// overflows.  Quotients that are too small for these steps are 0 in fp8.  Without UseReciprocal, it is divided.
template <bool UseReciprocal>
static __device__ __forceinline__ float quotient(float a, float b, float r)
{
    if (UseReciprocal) {
        const float near = a * r;
        return fmaf(-fmaf(near, b, -a), r, near);
    }
    return a / b;
}
