// base to the power n, wrapping, by squaring.
static __device__ __forceinline__ unsigned int int_pow(unsigned int base, unsigned int n)
{
    unsigned int result = 1;
    for (; n != 0; n >>= 1) {
        if (n & 1) result *= base;
        base *= base;
    }
    return result;
}
