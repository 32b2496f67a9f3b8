// The mean of the elements seen; NaN where there are none.
template <typename T>
static __device__ __forceinline__ T mean_of(const Moments<T>& a)
{
    return a.count > 0 ? a.mean : a.mean / a.count;
}
