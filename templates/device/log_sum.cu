// The greatest of some elements, and the sum of exp(element - greatest).
template <typename T>
struct LogSum {
    T peak, sum;
};

// What exponents are taken relative to: the greatest element where it is finite.
template <typename T>
static __device__ __forceinline__ T origin(const LogSum<T>& a)
{
    return isinf(a.peak) ? 0 : a.peak;
}
