// Two sets of elements as one.  Nothing is contracted, so that a with b is b with a.
static __device__ __forceinline__ void merge(LogSum<float>& a, const LogSum<float>& b)
{
    const LogSum<float> mine = a;
    a.peak = nan_max(a.peak, b.peak);
    a.sum = __fadd_rn(mine.sum * expf(mine.peak - origin(a)), b.sum * expf(b.peak - origin(a)));
}
