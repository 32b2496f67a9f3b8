// a / b rounded down; a // 0 is 0, and the least value // -1 wraps to itself.
static __device__ __forceinline__ int floor_div(int a, int b)
{
    if (b == 0) return 0;
    if (b == -1) return (int)(0 - (unsigned int)a);
    return a / b - (a % b != 0 && (a ^ b) < 0);
}
