// The number of the thread whose number differs by the bit `d`.
static __device__ __forceinline__ float2 shuffled(float2 a, int d)
{
    return make_float2(__shfl_xor_sync(0xffffffffu, a.x, d), __shfl_xor_sync(0xffffffffu, a.y, d));
}
