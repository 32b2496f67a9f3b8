// The maximum of the real parts of some complex numbers, and the sum of exp(number - maximum).
template <typename Z>
struct ComplexLogSum {
    decltype(Z::x) peak;
    Z sum;

    static __device__ __forceinline__ ComplexLogSum identity() { return {lowest<decltype(Z::x)>(), {0, 0}}; }

    // Adds a group of numbers.  A real part of -inf adds 0, whatever the imaginary part.
    template <int N>
    __device__ __forceinline__ void add(const Z (&z)[N])
    {
        ComplexLogSum group{z[0].x, {0, 0}};
        #pragma unroll
        for (int j = 1; j < N; ++j) {
            group.peak = max(group.peak, z[j].x);
        }
        #pragma unroll
        for (int j = 0; j < N; ++j) {
            decltype(Z::x) sine, cosine;
            sincos(z[j].y, &sine, &cosine);
            const bool nothing = isinf(z[j].x) && z[j].x < 0;
            const auto size = z[j].x == group.peak ? 1 : exp(z[j].x - group.peak);
            group.sum.x += nothing ? 0 : size * cosine;
            group.sum.y += nothing ? 0 : size * sine;
        }
        merge(group);
    }

    // Merges two sets of numbers, relative to the larger peak (maybe infinite): the same bits in either order.
    __device__ __forceinline__ void merge(const ComplexLogSum& other)
    {
        const bool less = peak < other.peak;
        const ComplexLogSum low = less ? *this : other, high = less ? other : *this;
        const auto scale = low.peak == high.peak ? 1 : exp(low.peak - high.peak);
        *this = {high.peak, {fma(low.sum.x, scale, high.sum.x), fma(low.sum.y, scale, high.sum.y)}};
    }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ ComplexLogSum shuffle_xor(int d) const
    {
        return {__shfl_xor_sync(0xffffffffu, peak, d),
                {__shfl_xor_sync(0xffffffffu, sum.x, d), __shfl_xor_sync(0xffffffffu, sum.y, d)}};
    }

    __device__ __forceinline__ Z result() const { return {peak + log(hypot(sum.x, sum.y)), atan2(sum.y, sum.x)}; }
};
