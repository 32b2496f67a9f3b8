// base to the power n, wrapping.  For negative n: 0, except for the bases 1 and -1.
static __device__ __forceinline__ int int_pow(int base, int n)
{
    if (n >= 0) return (int)int_pow((unsigned int)base, (unsigned int)n);
    if (base == -1) return n & 1 ? -1 : 1;
    return base == 1;
}
