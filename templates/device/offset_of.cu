// The offset of coordinates along the slowest dimensions, for which there are strides.
template <int Rank, int Slowest, typename Index>
static __device__ __forceinline__ Index offset_of(const Index (&c)[Rank], const Index (&strides)[Slowest])
{
    Index offset = 0;
    #pragma unroll
    for (int d = 0; d < Slowest; ++d) {
        offset += c[Rank - Slowest + d] * strides[d];
    }
    return offset;
}
