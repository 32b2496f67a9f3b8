// The sum of a group, four elements at a time.
template <int N, int Bytes>
static __device__ __forceinline__ int group_sum(const Pack<signed char, N, Bytes>& x)
{
    int result = 0;
#if defined(__CUDA_ARCH__)
    #pragma unroll
    for (int j = 0; j < N; j += 4) {
        int word;
        memcpy(&word, &x.at[j], sizeof(word));
        result = __dp4a(word, 0x01010101, result);
    }
#else
    for (int j = 0; j < N; ++j) {
        result += x.at[j];
    }
#endif
    return result;
}
