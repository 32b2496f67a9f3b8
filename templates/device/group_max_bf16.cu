// The maximum of a group, two elements at a time; NaN if any is.
template <int N, int Bytes>
static __device__ __forceinline__ float group_max(const Pack<__nv_bfloat16, N, Bytes>& x)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    __nv_bfloat162 both = __halves2bfloat162(x.at[0], x.at[1]);
    #pragma unroll
    for (int j = 2; j < N; j += 2) {
        both = __hmax2_nan(both, __halves2bfloat162(x.at[j], x.at[j + 1]));
    }
    return nan_max(__low2float(both), __high2float(both));
#else
    float one = __bfloat162float(x.at[0]);
    for (int j = 1; j < N; ++j) {
        one = nan_max(one, __bfloat162float(x.at[j]));
    }
    return one;
#endif
}
