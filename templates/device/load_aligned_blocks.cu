// N elements that begin `off` bytes after an aligned address: loads aligned blocks of Bytes and shifts them.
template <typename T, int N, int Bytes>
static __device__ __forceinline__ Pack<T, N, N * sizeof(T)> load_aligned_blocks(const T* from, unsigned int off)
{
    constexpr int count = N * sizeof(T) / 4, block = Bytes / 4;
    const auto blocks = reinterpret_cast<const Pack<unsigned int, block, Bytes>*>(from);
    Pack<unsigned int, block, Bytes> read[count / block + 1];
    #pragma unroll
    for (int k = 0; k <= count / block; ++k) {
        read[k] = blocks[k];
    }
    unsigned int words[count + block];
    #pragma unroll
    for (int k = 0; k < count + block; ++k) {
        words[k] = read[k / block].at[k % block];
    }
    funnel_shift_words<count, block, sizeof(T)>(words, off);
    Pack<T, N, N * sizeof(T)> result;
    memcpy(&result, words, sizeof(result));
    return result;
}
