// |a|, where INT_MIN wraps to itself.
static __device__ __forceinline__ int wrap_abs(int a)
{
    return a < 0 ? (int)(0 - (unsigned int)a) : a;
}
