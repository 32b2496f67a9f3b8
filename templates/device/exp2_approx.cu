// 2^x within 2 ulp; 0 where that is less than 2^-126.
static __device__ __forceinline__ float exp2_approx(float x)
{
#if defined(__CUDA_ARCH__)
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
#else
    return exp2f(x);
#endif
}
