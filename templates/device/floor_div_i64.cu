// a / b rounded down; a // 0 is 0, and LLONG_MIN // -1 wraps to LLONG_MIN.
static __device__ __forceinline__ long long floor_div(long long a, long long b)
{
    if (b == 0) return 0;
    if (b == -1) return (long long)(0 - (unsigned long long)a);
    return a / b - (a % b != 0 && (a ^ b) < 0);
}
