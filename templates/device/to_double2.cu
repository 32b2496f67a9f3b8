// A complex64 as complex128.
static __device__ __forceinline__ double2 to_double2(float2 z)
{
    return make_double2(z.x, z.y);
}
