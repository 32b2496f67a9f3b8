// Takes the elements of a group, relative to the greatest so far.
template <int N>
static __device__ __forceinline__ void add_group(LogSum<double>& all, const double (&x)[N])
{
    const double before = all.peak;
    #pragma unroll
    for (int j = 0; j < N; ++j) {
        all.peak = nan_max(all.peak, x[j]);
    }
    double sum = 0;
    #pragma unroll
    for (int j = 0; j < N; ++j) {
        sum += term(x[j] - origin(all));
    }
    all.sum = all.sum * exp(before - origin(all)) + sum;
}
