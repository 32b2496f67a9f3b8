// a % b of unsigned integers; a % 0 is 0.
template <typename T>
static __device__ __forceinline__ T mod_or_zero(T a, T b)
{
    return b == 0 ? 0 : a % b;
}
