// a / b, rounded to nearest (P. Markstein, 1990), with r = positive_reciprocal(b), which is not NaN; NaN where a step
// overflows.  Quotients that are too small for these steps are 0 in fp8.  Without UseReciprocal, it is divided.
template <bool UseReciprocal>
static __device__ __forceinline__ float quotient(float a, float b, float r)
{
    if (UseReciprocal) {
        const float estimate = a * r;
        return fmaf(-fmaf(estimate, b, -a), r, estimate);
    }
    return a / b;
}
