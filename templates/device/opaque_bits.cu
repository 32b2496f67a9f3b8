// The bits of a 16-bit float.  ptxas 13.0 takes a byte of them that is stored for the float converted to an integer; it
// does not see through this, which costs no instruction.
template <typename T>
static __device__ __forceinline__ T opaque_bits(T bits)
{
#ifdef __CUDA_ARCH__
    unsigned int word;
    asm("cvt.u32.u16 %0, %1;" : "=r"(word) : "h"(bits));
    return (T)word;
#else
    return bits;
#endif
}
