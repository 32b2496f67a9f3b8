// The fp8 value with these bits.
template <typename T>
static __device__ __forceinline__ T fp8_from_bits(unsigned char bits)
{
    T result;
    result.__x = bits;
    return result;
}
