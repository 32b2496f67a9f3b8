// a >> n; an n past the width leaves 0.
static __device__ __forceinline__ unsigned int shift_right(unsigned int a, unsigned int n)
{
    return n < 32 ? a >> n : 0;
}
