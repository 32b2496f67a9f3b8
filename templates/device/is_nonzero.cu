// Whether a complex value is not 0.
template <typename T>
static __device__ __forceinline__ bool is_nonzero(T z)
{
    return z.x != 0 || z.y != 0;
}
