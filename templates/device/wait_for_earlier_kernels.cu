// Programmatic dependent launch: waits until the kernels before this one are complete and their writes are visible.
// Every thread calls it before its first access to global memory.
static __device__ __forceinline__ void wait_for_earlier_kernels()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
