// Takes the numbers of a group.  One whose real part is -inf is nothing, whatever its angle.
template <typename Z, int N>
static __device__ __forceinline__ void add_group(ComplexLogSum<Z>& all, const Z (&z)[N])
{
    ComplexLogSum<Z> group{z[0].x, {0, 0}};
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
    merge(all, group);
}
