// x, or the largest finite value for an infinity, whose bits are one less.
static __device__ __forceinline__ __nv_bfloat16 to_finite(__nv_bfloat16 x)
{
    const unsigned short bits = __bfloat16_as_ushort(x);
    return (bits & 0x7fff) == 0x7f80 ? __ushort_as_bfloat16(bits - 1) : x;
}
