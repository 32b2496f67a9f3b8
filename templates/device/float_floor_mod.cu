// a % b as in Python and NumPy: exact, with the sign of b.
template <typename T>
static __device__ __forceinline__ T float_floor_mod(T a, T b)
{
    const T r = fmod(a, b);
    if (r == 0) return copysign((T)0, b);
    return (b < 0) != (r < 0) ? r + b : r;
}
