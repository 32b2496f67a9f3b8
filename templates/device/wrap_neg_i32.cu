// -a, where INT_MIN wraps to itself.
static __device__ __forceinline__ int wrap_neg(int a)
{
    return (int)(0 - (unsigned int)a);
}
