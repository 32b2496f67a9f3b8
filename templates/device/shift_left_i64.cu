// a << n; 0 if n is negative or not below the width.
static __device__ __forceinline__ long long shift_left(long long a, long long n)
{
    return 0 <= n && n < 64 ? (long long)((unsigned long long)a << n) : 0;
}
