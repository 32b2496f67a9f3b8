// a >> n, arithmetic; a negative n, or one past the width, leaves the sign.
static __device__ __forceinline__ long long shift_right(long long a, long long n)
{
    return a >> (0 <= n && n < 64 ? n : 63);
}
