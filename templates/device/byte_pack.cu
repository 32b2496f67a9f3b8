// A group of bytes in words: an instruction takes an element of these, as an int.  Compilers take two or three to take
// vectors of bytes apart, and convert bytes to floats by a slower instruction than ints.
template <typename T, int N, int Bytes>
struct alignas(Bytes) BytePack {
    struct Elements {
        unsigned int words[N / 4];

        __device__ __forceinline__ int operator[](int j) const
        {
#if defined(__CUDA_ARCH__)
            const int selectors = (T)-1 < 0 ? 0x8880 + 0x1111 * (j % 4) : 0x4440 + j % 4;  // 8 + b: the sign of byte b
            int element;
            asm("prmt.b32 %0, %1, 0, %2;" : "=r"(element) : "r"(words[j / 4]), "r"(selectors));
            return element;
#else
            return (T)(words[j / 4] >> 8 * (j % 4));
#endif
        }
    } at;
};
