// An L2 policy for loads: what they read is evicted last, so L2 evicts written lines first.  Create it once per thread,
// ahead of the loads: a branch that creates it is not replaced by a predicate, and the load in it is issued late.
static __device__ __forceinline__ unsigned long long evict_last_policy()
{
    unsigned long long policy = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
#endif
    return policy;
}
