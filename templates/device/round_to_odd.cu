// x as a float whose last bit also says "not exactly x", so that rounding again to fewer bits rounds x itself.
static __device__ __forceinline__ float round_to_odd(double x)
{
    const float inner = __double2float_rz(x);
    return inner != x ? __int_as_float(__float_as_int(inner) | 1) : inner;
}
