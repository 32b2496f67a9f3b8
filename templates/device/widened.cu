// A float, of which a bfloat16 is the upper half.  Not __bfloat162float, whose assembly hides that from the compiler.
static __device__ __forceinline__ float widened(__nv_bfloat16 x)
{
    const unsigned int upper = __bfloat16_as_ushort(x);
    return __uint_as_float(upper << 16);
}
