// The greatest of some elements, and the sum of exp(element - greatest).
template <typename T>
struct LogSum {
    T peak, sum;
};

template <typename T>
static __device__ __forceinline__ LogSum<T> shuffled(const LogSum<T>& a, int d)
{
    return {__shfl_xor_sync(0xffffffffu, a.peak, d), __shfl_xor_sync(0xffffffffu, a.sum, d)};
}
