// -1, 0 or 1.
template <typename T>
static __device__ __forceinline__ T sign_of(T x)
{
    return (0 < x) - (x < 0);
}
