// How many elements of a group are true, four at a time.
template <int N, int Bytes>
static __device__ __forceinline__ int group_sum(const Pack<unsigned char, N, Bytes>& x)
{
    unsigned int result = 0;
#if defined(__CUDA_ARCH__)
    #pragma unroll
    for (int j = 0; j < N; j += 4) {
        unsigned int word;
        memcpy(&word, &x.at[j], sizeof(word));
        word |= (word & 0x7f7f7f7fu) + 0x7f7f7f7fu;  // sets the highest bit of each byte that is not 0
        result = __dp4a(word & 0x80808080u, 0x01010101u, result);
    }
    result /= 128;
#else
    for (int j = 0; j < N; ++j) {
        result += x.at[j] != 0;
    }
#endif
    return (int)result;
}
