// a / b, rounded to nearest (P. Markstein, 1990), where b is moderate and not 0, and a is neither -0 nor tiny nor huge.
template <bool UseReciprocal>
static __device__ __forceinline__ float divide_moderate(float a, float b)
{
    if (!UseReciprocal) {
        return a / b;
    }
    const float estimate = reciprocal_approx(b), r = fmaf(estimate, -fmaf(estimate, b, -1.0f), estimate);
    const float q = a * r;
    return fmaf(fmaf(-q, b, a), r, q);
}
