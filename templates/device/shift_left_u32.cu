// a << n; 0 if n is not below the width.
static __device__ __forceinline__ unsigned int shift_left(unsigned int a, unsigned int n)
{
    return n < 32 ? a << n : 0;
}
