// The upper bound of a type: inf, or the largest integer.
template <typename T>
static __device__ __forceinline__ T highest()
{
    const bool is_float = (T)0.5 != 0, is_signed = (T)-1 < (T)0;
    return is_float ? (T)__int_as_float(0x7f800000) : (T)(~0ull >> (65 - 8 * sizeof(T) - !is_signed));
}
