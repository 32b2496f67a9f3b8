// a / b, rounded to nearest (P. Markstein, 1990), where b is moderate and not 0, and a is neither -0 nor tiny nor huge.
template <bool UseReciprocal>
static __device__ __forceinline__ float divide_moderate(float a, float b)
{
    if (!UseReciprocal) {
        return a / b;
    }
    const float near = reciprocal_approx(b), r = fmaf(near, -fmaf(near, b, -1.0f), near);
    const float q = a * r;
    return fmaf(fmaf(-q, b, a), r, q);
}
