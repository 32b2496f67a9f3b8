// a % b as in Python and NumPy: exact, with the sign of b.
template <typename T>
static __device__ __forceinline__ T float_floor_mod(T a, T b)
{
    const T quotient = a / b;
    T r;
    if (fabs(quotient) < (T)(sizeof(T) == 4 ? 0x1p21 : 0x1p50)) {  // its floor is right, or one too many
        const T whole = floor(quotient);
        r = whole == 0 ? a : fma(-whole, b, a);
    } else {
        r = fmod(a, b);
    }
    if (r == 0) return copysign((T)0, b);
    return (b < 0) != (r < 0) ? r + b : r;
}
