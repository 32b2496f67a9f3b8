// Converts bfloat16 to float by a shift.  Unlike __bfloat162float, whose inline assembly is opaque, the compiler can
// fold it.
static __device__ __forceinline__ float to_float(__nv_bfloat16 x)
{
    const unsigned int upper = __bfloat16_as_ushort(x);
    return __uint_as_float(upper << 16);
}
