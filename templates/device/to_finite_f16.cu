// x, or the largest finite value for an infinity, whose bits are one less.
static __device__ __forceinline__ __half to_finite(__half x)
{
    const unsigned short bits = __half_as_ushort(x);
    return (bits & 0x7fff) == 0x7c00 ? __ushort_as_half(bits - 1) : x;
}
