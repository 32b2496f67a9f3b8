// The logarithm of the sum of exponentials.
template <typename Z>
static __device__ __forceinline__ Z log_total(const ComplexLogSum<Z>& a)
{
    return {a.peak + log(hypot(a.sum.x, a.sum.y)), atan2(a.sum.y, a.sum.x)};
}
