// The greatest real part of some complex numbers, and the sum of exp(number - greatest).
template <typename Z>
struct ComplexLogSum {
    decltype(Z::x) peak;
    Z sum;

    static __device__ __forceinline__ ComplexLogSum identity() { return {lowest<decltype(Z::x)>(), {0, 0}}; }

    // Takes a group of numbers.  One whose real part is -inf is nothing, whatever its angle.
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

    // Two sets of numbers as one, relative to the greater peak, infinite or not; a with b is b with a.
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
