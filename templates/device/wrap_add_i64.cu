// a + b that wraps: signed overflow is undefined, unsigned is not.
static __device__ __forceinline__ long long wrap_add(long long a, long long b)
{
    return (long long)((unsigned long long)a + (unsigned long long)b);
}
