// The state of the thread whose number differs by the bit `d`.
template <typename T>
static __device__ __forceinline__ Moments<T> shuffled(const Moments<T>& a, int d)
{
    return {__shfl_xor_sync(0xffffffffu, a.count, d), __shfl_xor_sync(0xffffffffu, a.mean, d),
            __shfl_xor_sync(0xffffffffu, a.distance, d)};
}
