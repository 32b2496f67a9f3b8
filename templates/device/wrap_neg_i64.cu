// -a, where LLONG_MIN wraps to itself.
static __device__ __forceinline__ long long wrap_neg(long long a)
{
    return (long long)(0 - (unsigned long long)a);
}
