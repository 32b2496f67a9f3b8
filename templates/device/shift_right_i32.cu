// a >> n, arithmetic; 0 or -1, by the sign of a, if n is negative or not below the width.
static __device__ __forceinline__ int shift_right(int a, int n)
{
    return a >> (0 <= n && n < 32 ? n : 31);
}
