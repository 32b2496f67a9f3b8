// The offset of coordinates from dimension First on.  There are strides for the slowest dimensions, or for all.
template <int First, int Rank, int Slowest, typename Index>
static __device__ __forceinline__ Index offset_of(const Index (&c)[Rank], const Index (&strides)[Slowest])
{
    Index offset = 0;
    #pragma unroll
    for (int d = First; d < Rank; ++d) {
        offset += c[d] * strides[d - (Rank - Slowest)];
    }
    return offset;
}
