// The state of the thread whose number differs by the bit `d`.
template <typename T>
static __device__ __forceinline__ LogSum<T> shuffled(const LogSum<T>& a, int d)
{
    return {__shfl_xor_sync(0xffffffffu, a.peak, d), __shfl_xor_sync(0xffffffffu, a.sum, d)};
}
