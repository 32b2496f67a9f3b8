// a - b * (a // b): the remainder with the sign of b; a % 0 is 0.
static __device__ __forceinline__ int floor_mod(int a, int b)
{
    if (b == 0 || b == -1) return 0;  // INT_MIN % -1 is undefined
    const int r = a % b;
    return r != 0 && (r ^ b) < 0 ? r + b : r;
}
