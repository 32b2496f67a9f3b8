// Two sets of elements as one.  Nothing is contracted, so that a with b is b with a.
static __device__ __forceinline__ void merge(LogSum<double>& a, const LogSum<double>& b)
{
    const LogSum<double> mine = a;
    a.peak = nan_max(a.peak, b.peak);
    a.sum = __dadd_rn(mine.sum * exp(mine.peak - origin(a)), b.sum * exp(b.peak - origin(a)));
}
