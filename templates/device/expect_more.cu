// Begins to await so many bytes from blocks of the cluster, once the last ones have arrived.  For one thread.
static __device__ __forceinline__ void expect_more(unsigned long long& arrived, unsigned int bytes)
{
    const unsigned int at = (unsigned int)__cvta_generic_to_shared(&arrived);
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at), "r"(bytes) : "memory");
}
