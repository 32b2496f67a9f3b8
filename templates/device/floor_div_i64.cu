// a / b rounded down; a // 0 is 0, and LLONG_MIN // -1 wraps to LLONG_MIN.  32 bits where both fit: half the time.
static __device__ __forceinline__ long long floor_div(long long a, long long b)
{
    if (b == 0) return 0;
    if ((unsigned long long)(a | b) >> 32 == 0) return (unsigned int)a / (unsigned int)b;
    if (b == -1) return (long long)(0 - (unsigned long long)a);
    return a / b - (a % b != 0 && (a ^ b) < 0);
}
