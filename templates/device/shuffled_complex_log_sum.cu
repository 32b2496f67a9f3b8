// The state of the thread whose number differs by the bit `d`.
template <typename Z>
static __device__ __forceinline__ ComplexLogSum<Z> shuffled(const ComplexLogSum<Z>& a, int d)
{
    return {__shfl_xor_sync(0xffffffffu, a.peak, d),
            {__shfl_xor_sync(0xffffffffu, a.sum.x, d), __shfl_xor_sync(0xffffffffu, a.sum.y, d)}};
}
