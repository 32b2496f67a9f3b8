// The sum of exp(element - greatest), which has no value where the greatest is infinite.
template <typename T>
static __device__ __forceinline__ T total(const LogSum<T>& a)
{
    return a.sum + (a.peak - a.peak);
}
