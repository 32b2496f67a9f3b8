// a // b as in Python and NumPy: from the exact remainder, so that 1.0 // 0.1 is 9.
template <typename T>
static __device__ __forceinline__ T float_floor_div(T a, T b)
{
    const T quotient = a / b;
    if (fabs(quotient) < (T)(sizeof(T) == 4 ? 0x1p21 : 0x1p50)) {  // its floor is right, or one too many
        const T whole = floor(quotient);
        const T r = whole == 0 ? a : fma(-whole, b, a);  // its sign is exact
        return r != 0 && (b < 0) != (r < 0) ? whole - 1 : whole;
    }
    if (b == 0) return quotient;
    const T r = fmod(a, b);
    T q = (a - r) / b;
    if (r != 0 && (b < 0) != (r < 0)) q -= 1;
    if (q == 0) return copysign((T)0, quotient);
    const T whole = floor(q);
    return q - whole > (T)0.5 ? whole + 1 : whole;  // q is an integer, or off by its rounding
}
