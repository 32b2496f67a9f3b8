// Asks for a row ahead of its loads, which then find it in L2.  Its address and `bytes` are multiples of 16.  One
// thread calls it.
static __device__ __forceinline__ void
prefetch_row([[maybe_unused]] const void* row, [[maybe_unused]] unsigned int bytes)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;"
                 :: "l"(__cvta_generic_to_global(row)), "r"(bytes) : "memory");
#endif
}
