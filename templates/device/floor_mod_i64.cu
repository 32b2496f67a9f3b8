// a - b * (a // b): the remainder with the sign of b; a % 0 is 0.  32 bits where both fit: half the time.
static __device__ __forceinline__ long long floor_mod(long long a, long long b)
{
    if (b == 0 || b == -1) return 0;  // LLONG_MIN % -1 is undefined
    if ((unsigned long long)(a | b) >> 32 == 0) return (unsigned int)a % (unsigned int)b;
    const long long r = a % b;
    return r != 0 && (r ^ b) < 0 ? r + b : r;
}
