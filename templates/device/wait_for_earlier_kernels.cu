// Programmatic dependent launch: lets the next kernel of the stream begin, then waits until those before this one are
// complete and what they wrote can be seen.  No thread reads or writes global memory before.
static __device__ __forceinline__ void wait_for_earlier_kernels()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
