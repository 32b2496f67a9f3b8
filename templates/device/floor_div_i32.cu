// a / b rounded down; a // 0 is 0, and INT_MIN // -1 wraps to INT_MIN.
static __device__ __forceinline__ int floor_div(int a, int b)
{
    if (b == 0) return 0;
    if (b == -1) return (int)(0 - (unsigned int)a);
    return a / b - (a % b != 0 && (a ^ b) < 0);
}
