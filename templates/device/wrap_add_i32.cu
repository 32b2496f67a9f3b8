// a + b that wraps: signed overflow is undefined, unsigned is not.
static __device__ __forceinline__ int wrap_add(int a, int b)
{
    return (int)((unsigned int)a + (unsigned int)b);
}
