// Programmatic dependent launch: the next kernel in the stream may start once all blocks are here or have ended.  It
// waits for this one before it accesses memory.
static __device__ __forceinline__ void let_next_kernel_start()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}
