// A complex128 as complex64.
static __device__ __forceinline__ float2 to_float2(double2 z)
{
    return make_float2((float)z.x, (float)z.y);
}
