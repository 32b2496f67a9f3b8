// a << n; an n past the width leaves 0.
static __device__ __forceinline__ unsigned int shift_left(unsigned int a, unsigned int n)
{
    return n < 32 ? a << n : 0;
}
