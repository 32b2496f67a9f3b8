// a >> n, arithmetic; 0 or -1, by the sign of a, if n is negative or not below the width.
static __device__ __forceinline__ long long shift_right(long long a, long long n)
{
    return a >> (0 <= n && n < 64 ? n : 63);
}
