// The greatest real part of some complex numbers, and the sum of exp(number - greatest).
template <typename Z>
struct ComplexLogSum {
    decltype(Z::x) peak;
    Z sum;
};

// Two sets of numbers as one, relative to the greater peak, infinite or not; a with b is b with a.
template <typename Z>
static __device__ __forceinline__ void merge(ComplexLogSum<Z>& a, const ComplexLogSum<Z>& b)
{
    const bool less = a.peak < b.peak;
    const ComplexLogSum<Z> low = less ? a : b, high = less ? b : a;
    const auto share = low.peak == high.peak ? 1 : exp(low.peak - high.peak);
    a = {high.peak, {fma(low.sum.x, share, high.sum.x), fma(low.sum.y, share, high.sum.y)}};
}
