// Byte j of a word, as an int of the type T: by one instruction, which also extends the sign.
template <typename T>
static __device__ __forceinline__ int take_byte(unsigned int word, int j)
{
#if defined(__CUDA_ARCH__)
    const int selectors = (T)-1 < 0 ? 0x8880 + 0x1111 * j : 0x4440 + j;  // 8 + j: the sign of byte j; 4: zero
    int element;
    asm("prmt.b32 %0, %1, 0, %2;" : "=r"(element) : "r"(word), "r"(selectors));
    return element;
#else
    return (T)(word >> 8 * j);
#endif
}
