// What neighbouring lanes hold, as one: an exponential for each, not for each step.  The product is not contracted, so
// that all lanes get the same bits.
template <int Lanes>
static __device__ __forceinline__ void merge_lanes(LogSum<double>& a)
{
    const double before = a.peak;
    #pragma unroll
    for (int d = Lanes / 2; d > 0; d /= 2) {
        a.peak = nan_max(a.peak, __shfl_xor_sync(0xffffffffu, a.peak, d));
    }
    a.sum = __dmul_rn(a.sum, exp(before - origin(a)));
    #pragma unroll
    for (int d = Lanes / 2; d > 0; d /= 2) {
        a.sum += __shfl_xor_sync(0xffffffffu, a.sum, d);
    }
}
