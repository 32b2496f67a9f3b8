// a << n; a negative n, or one past the width, leaves 0.
static __device__ __forceinline__ int shift_left(int a, int n)
{
    return 0 <= n && n < 32 ? (int)((unsigned int)a << n) : 0;
}
