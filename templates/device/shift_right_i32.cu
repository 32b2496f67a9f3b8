// a >> n, arithmetic; a negative n, or one past the width, leaves the sign.
static __device__ __forceinline__ int shift_right(int a, int n)
{
    return a >> (0 <= n && n < 32 ? n : 31);
}
