// a / b, rounded to nearest (P. Markstein, 1990), where b is moderate and not 0, and a is neither -0 nor tiny nor huge.
template <bool UseReciprocal>
static __device__ __forceinline__ float divide_moderate(float a, float b)
{
    if (!UseReciprocal) {
        return a / b;
    }
#if defined(__CUDA_ARCH__)
    float near;  // all elements of a thread share it and r, which is 1 / b rounded to nearest
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(near) : "f"(b));
    const float r = fmaf(near, -fmaf(near, b, -1.0f), near);
#else
    const float r = 1.0f / b;
#endif
    const float q = a * r;
    return fmaf(fmaf(-q, b, a), r, q);
}
