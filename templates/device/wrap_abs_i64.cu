// |a|, where LLONG_MIN wraps to itself.
static __device__ __forceinline__ long long wrap_abs(long long a)
{
    return a < 0 ? (long long)(0 - (unsigned long long)a) : a;
}
