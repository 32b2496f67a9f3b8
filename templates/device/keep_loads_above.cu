// No load moves below this point.  NVVM would move each to its first use, where it waits for the divisions before it.
static __device__ __forceinline__ void keep_loads_above()
{
#if defined(__CUDA_ARCH__)
    asm volatile("" ::: "memory");
#endif
}
