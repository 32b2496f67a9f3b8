// a / b within 2 ulp, for all a and b.
static __device__ __forceinline__ float divide_approx(float a, float b)
{
#if defined(__CUDA_ARCH__)
    float result;
    asm("div.full.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
#else
    return a / b;
#endif
}
