// Two sets of elements as one.
static __device__ __forceinline__ void merge(LogSum<float>& a, const LogSum<float>& b)
{
    const LogSum<float> mine = a;
    a.peak = nan_max(a.peak, b.peak);
    a.sum = mine.sum * expf(mine.peak - origin(a)) + b.sum * expf(b.peak - origin(a));
}
