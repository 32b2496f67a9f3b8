// Rounds a group of floats to fp8, four at a time.  Returns whether no result is NaN.
template <__nv_fp8_interpretation_t Kind, int N, typename Group>
static __device__ __forceinline__ bool round_group(const float (&x)[N], Group& group)
{
    const unsigned int to_sign = Kind == __NV_E4M3 ? 0x01010101u : 0x03030303u;  // from the magnitude of the first NaN
    unsigned int carries = 0;
    #pragma unroll
    for (int j = 0; j < N; j += 4) {
        const unsigned int low = __nv_cvt_float2_to_fp8x2(make_float2(x[j], x[j + 1]), __NV_SATFINITE, Kind);
        const unsigned int high = __nv_cvt_float2_to_fp8x2(make_float2(x[j + 2], x[j + 3]), __NV_SATFINITE, Kind);
        const unsigned int word = low | high << 16;
        memcpy(&group.at[j], &word, sizeof(word));
        carries |= (word & 0x7f7f7f7fu) + to_sign;
    }
    return (carries & 0x80808080u) == 0;
}
