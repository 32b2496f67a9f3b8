// x as a float, rounded to odd: the last bit is 1 where that is inexact, so that rounding again to fewer bits gives
// x rounded once.
static __device__ __forceinline__ float round_to_odd(double x)
{
    const float inner = __double2float_rz(x);
    return inner != x ? __int_as_float(__float_as_int(inner) | 1) : inner;
}
