// Makes what is loaded opaque to the compiler, which would convert it in the branch of its load, and so wait for each
// load before the next.
template <typename T>
static __device__ __forceinline__ void keep_loaded([[maybe_unused]] T& x)
{
#if defined(__CUDA_ARCH__)
    if constexpr (sizeof(T) % 4 == 0) {
        unsigned int* const words = reinterpret_cast<unsigned int*>(&x);
        #pragma unroll
        for (int w = 0; w < (int)sizeof(T) / 4; ++w) {
            asm volatile("" : "+r"(words[w]));
        }
    } else if constexpr (sizeof(T) == 2) {
        asm volatile("" : "+h"(reinterpret_cast<unsigned short&>(x)));
    } else {
        unsigned int byte = reinterpret_cast<unsigned char&>(x);
        asm volatile("" : "+r"(byte));
        reinterpret_cast<unsigned char&>(x) = (unsigned char)byte;
    }
#endif
}
