// Initialises an mbarrier whose first phase waits for `bytes` bytes from blocks of the cluster.  One thread calls it,
// before any block sends.
static __device__ __forceinline__ void mbarrier_init_expect(unsigned long long& arrived, unsigned int bytes)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#error "thread-block clusters need sm_90 or later: leave --arch out for a file that runs everywhere"
#endif
    const unsigned int at = (unsigned int)__cvta_generic_to_shared(&arrived);
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    mbarrier_expect(arrived, bytes);
}
