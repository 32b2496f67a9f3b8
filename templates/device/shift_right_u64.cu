// a >> n; 0 if n is not below the width.
static __device__ __forceinline__ unsigned long long shift_right(unsigned long long a, unsigned long long n)
{
    return n < 64 ? a >> n : 0;
}
