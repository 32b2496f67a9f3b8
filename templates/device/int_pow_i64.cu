// base to the power n, wrapping.  For negative n: 0, except for the bases 1 and -1.
static __device__ __forceinline__ long long int_pow(long long base, long long n)
{
    if (n >= 0) return (long long)int_pow((unsigned long long)base, (unsigned long long)n);
    if (base == -1) return n & 1 ? -1 : 1;
    return base == 1;
}
