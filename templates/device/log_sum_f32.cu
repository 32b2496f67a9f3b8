// Two sets of elements as one.  Equal greatest ones take no factor: both may be infinite.
static __device__ __forceinline__ void merge(LogSum<float>& a, const LogSum<float>& b)
{
    const float peak = a.peak < b.peak || b.peak != b.peak ? b.peak : a.peak;
    const float mine = a.peak == peak ? a.sum : a.sum * expf(a.peak - peak);
    a.sum = mine + (b.peak == peak ? b.sum : b.sum * expf(b.peak - peak));
    a.peak = peak;
}

template <int N>
static __device__ __forceinline__ void add_group(LogSum<float>& all, const float (&x)[N])
{
    float peak = x[0], sum = 0;
    #pragma unroll
    for (int j = 1; j < N; ++j) {
        peak = peak < x[j] || x[j] != x[j] ? x[j] : peak;
    }
    #pragma unroll
    for (int j = 0; j < N; ++j) {
        sum += x[j] == peak ? 1 : expf(x[j] - peak);
    }
    merge(all, LogSum<float>{peak, sum});
}
