// Copies a group by its words.  A copy element by element would wait for a group that is still being loaded.
template <typename T, int N, int Bytes>
static __device__ __forceinline__ void take_packed(Pack<T, N, Bytes>& to, Pack<T, N, Bytes>& from)
{
#if defined(__CUDA_ARCH__)
    unsigned int* const source = reinterpret_cast<unsigned int*>(&from);
    unsigned int* const target = reinterpret_cast<unsigned int*>(&to);
    #pragma unroll
    for (int w = 0; w < N * (int)sizeof(T) / 4; ++w) {
        asm("" : "+r"(source[w]));
        target[w] = source[w];
    }
#else
    to = from;
#endif
}
