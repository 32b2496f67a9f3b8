// a // b as in Python and NumPy: from the exact remainder, so that 1.0 // 0.1 is 9.
template <typename T>
static __device__ __forceinline__ T float_floor_div(T a, T b)
{
    if (b == 0) return a / b;
    const T r = fmod(a, b);
    T q = (a - r) / b;
    if (r != 0 && (b < 0) != (r < 0)) q -= 1;
    if (q == 0) return copysign((T)0, a / b);
    const T whole = floor(q);
    return q - whole > (T)0.5 ? whole + 1 : whole;  // q is an integer, or off by its rounding
}
