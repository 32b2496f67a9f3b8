// Two sets of elements as one.  Equal greatest ones take no factor: both may be infinite.
static __device__ __forceinline__ void merge(LogSum<double>& a, const LogSum<double>& b)
{
    const double peak = a.peak < b.peak || b.peak != b.peak ? b.peak : a.peak;
    const double mine = a.peak == peak ? a.sum : a.sum * exp(a.peak - peak);
    a.sum = mine + (b.peak == peak ? b.sum : b.sum * exp(b.peak - peak));
    a.peak = peak;
}

template <int N>
static __device__ __forceinline__ void add_group(LogSum<double>& all, const double (&x)[N])
{
    double peak = x[0], sum = 0;
    #pragma unroll
    for (int j = 1; j < N; ++j) {
        peak = peak < x[j] || x[j] != x[j] ? x[j] : peak;
    }
    #pragma unroll
    for (int j = 0; j < N; ++j) {
        sum += x[j] == peak ? 1 : exp(x[j] - peak);
    }
    merge(all, LogSum<double>{peak, sum});
}
