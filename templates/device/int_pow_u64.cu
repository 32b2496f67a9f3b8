// base to the power n, wrapping, by squaring.
static __device__ __forceinline__ unsigned long long int_pow(unsigned long long base, unsigned long long n)
{
    unsigned long long result = 1;
    for (; n != 0; n >>= 1) {
        if (n & 1) result *= base;
        base *= base;
    }
    return result;
}
