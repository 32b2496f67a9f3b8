// The state of the thread whose number differs by the bit `d`.
template <typename T, typename Place>
static __device__ __forceinline__ Found<T, Place> shuffled(const Found<T, Place>& a, int d)
{
    return {__shfl_xor_sync(0xffffffffu, a.value, d), __shfl_xor_sync(0xffffffffu, a.at, d)};
}
