// a << n; 0 if n is negative or not below the width.
static __device__ __forceinline__ int shift_left(int a, int n)
{
    return 0 <= n && n < 32 ? (int)((unsigned int)a << n) : 0;
}
