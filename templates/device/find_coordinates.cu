// The coordinates of an element, the fastest first, from its number below 2^(bits - 1).
// x / extent == (high half of x * magic + x) >> shift: no division.
template <int Rank, typename Index, typename Count, typename Layout>
static __device__ __forceinline__ void find_coordinates(Count x, const Layout& layout, Index (&c)[Rank])
{
    if constexpr (Rank > 1) {
        #pragma unroll
        for (int d = 0; d < Rank - 1; ++d) {
            const Count high = sizeof(Count) == 4 ? __umulhi(x, layout.magic[d]) : __umul64hi(x, layout.magic[d]);
            const Count quotient = (high + x) >> layout.shift[d];
            c[d] = (Index)(x - quotient * layout.extent[d]);
            x = quotient;
        }
    }
    c[Rank - 1] = (Index)x;
}
