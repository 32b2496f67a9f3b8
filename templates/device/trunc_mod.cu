// The remainder of a / b with the sign of a; a % 0 is 0.
template <typename T>
static __device__ __forceinline__ T trunc_mod(T a, T b)
{
    return b == 0 || b == -1 ? 0 : a % b;  // the smallest value % -1 is undefined
}
