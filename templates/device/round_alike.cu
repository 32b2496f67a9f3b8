// Rounds a group of pairs of floats to fp8, four at a time.  Returns whether both floats of every pair round alike.
template <__nv_fp8_interpretation_t Kind, int N, typename Group>
static __device__ __forceinline__ bool round_alike(const float2 (&ends)[N], Group& group)
{
    unsigned int differ = 0;
    #pragma unroll
    for (int j = 0; j < N; j += 4) {
        const unsigned int below =
            __nv_cvt_float2_to_fp8x2(make_float2(ends[j].x, ends[j + 1].x), __NV_SATFINITE, Kind) |
            __nv_cvt_float2_to_fp8x2(make_float2(ends[j + 2].x, ends[j + 3].x), __NV_SATFINITE, Kind) << 16;
        const unsigned int above =
            __nv_cvt_float2_to_fp8x2(make_float2(ends[j].y, ends[j + 1].y), __NV_SATFINITE, Kind) |
            __nv_cvt_float2_to_fp8x2(make_float2(ends[j + 2].y, ends[j + 3].y), __NV_SATFINITE, Kind) << 16;
        memcpy(&group.at[j], &below, sizeof(below));
        differ |= below ^ above;
    }
    return differ == 0;
}
