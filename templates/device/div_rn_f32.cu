// a / b; in PTX, since NVVM of CUDA 13.0 takes a quotient by the constant -0.0 for no negative number.
static __device__ __forceinline__ float div_rn(float a, float b)
{
#ifdef __CUDA_ARCH__
    float result;
    asm("div.rn.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
#else
    return a / b;
#endif
}
