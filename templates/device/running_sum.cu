// A sum that also keeps what rounding took away from it.
template <typename T>
struct Sum {
    T sum, rest;
};

template <typename T>
static __device__ __forceinline__ void add(Sum<T>& s, T x)
{
    const T sum = s.sum + x, gained = sum - s.sum;
    s.rest += (s.sum - (sum - gained)) + (x - gained);
    s.sum = sum;
}

template <typename T>
static __device__ __forceinline__ T total(const Sum<T>& s)
{
    return isfinite(s.sum) ? s.sum + s.rest : s.sum;
}
