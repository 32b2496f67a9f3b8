// The minimum of a group, two elements at a time; NaN if any is.
template <int N, int Bytes>
static __device__ __forceinline__ float group_min(const Pack<__half, N, Bytes>& x)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    __half2 both = __halves2half2(x.at[0], x.at[1]);
    #pragma unroll
    for (int j = 2; j < N; j += 2) {
        both = __hmin2_nan(both, __halves2half2(x.at[j], x.at[j + 1]));
    }
    return nan_min(__low2float(both), __high2float(both));
#else
    float one = __half2float(x.at[0]);
    for (int j = 1; j < N; ++j) {
        one = nan_min(one, __half2float(x.at[j]));
    }
    return one;
#endif
}
