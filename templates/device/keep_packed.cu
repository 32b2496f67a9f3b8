// Makes a group opaque to the compiler, so that elements stay packed in words until they are used: in half the
// registers, or fewer.
template <typename T, int N, int Bytes>
static __device__ __forceinline__ void keep_packed([[maybe_unused]] Pack<T, N, Bytes>& x)
{
#if defined(__CUDA_ARCH__)
    unsigned int* const words = reinterpret_cast<unsigned int*>(&x);
    #pragma unroll
    for (int w = 0; w < N * (int)sizeof(T) / 4; ++w) {
        asm("" : "+r"(words[w]));
    }
#endif
}
