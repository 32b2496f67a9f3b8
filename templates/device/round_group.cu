// Rounds a group of floats to fp8, four at a time.
template <__nv_fp8_interpretation_t Kind, int N, typename Group>
static __device__ __forceinline__ void round_group(const float (&x)[N], Group& group)
{
    #pragma unroll
    for (int j = 0; j < N; j += 4) {
        const unsigned int word = __nv_cvt_float2_to_fp8x2(make_float2(x[j], x[j + 1]), __NV_SATFINITE, Kind) |
                                  __nv_cvt_float2_to_fp8x2(make_float2(x[j + 2], x[j + 3]), __NV_SATFINITE, Kind) << 16;
        memcpy(&group.at[j], &word, sizeof(word));
    }
}
