// a / b; in PTX, since NVVM of CUDA 13.0 takes a quotient by the constant -0.0 for no negative number.
static __device__ __forceinline__ double div_rn(double a, double b)
{
#ifdef __CUDA_ARCH__
    double result;
    asm("div.rn.f64 %0, %1, %2;" : "=d"(result) : "d"(a), "d"(b));
    return result;
#else
    return a / b;
#endif
}
