// Arrives at an mbarrier, whose current phase then waits for `bytes` bytes.  One thread calls it.
static __device__ __forceinline__ void mbarrier_expect(unsigned long long& arrived, unsigned int bytes)
{
    const unsigned int at = (unsigned int)__cvta_generic_to_shared(&arrived);
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at), "r"(bytes) : "memory");
}
