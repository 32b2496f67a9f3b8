// N elements that only they themselves are aligned to: the two aligned blocks that they lie in, shifted together.
template <typename T, int N>
static __device__ __forceinline__ Pack<T, N, N * sizeof(T)> load_shifted(const T* from)
{
    constexpr int bytes = N * sizeof(T);
    constexpr int count = bytes / 4;
    const unsigned int off = reinterpret_cast<unsigned long long>(from) % bytes;
    const auto blocks = reinterpret_cast<const Pack<unsigned int, count, bytes>*>(from - off / sizeof(T));
    const Pack<unsigned int, count, bytes> pair[2] = {blocks[0], blocks[1]};
    unsigned int words[2 * count];
    #pragma unroll
    for (int k = 0; k < 2 * count; ++k) {
        words[k] = pair[k / count].at[k % count];
    }
    shift_words<count, sizeof(T)>(words, off);
    Pack<T, N, bytes> result;
    memcpy(&result, words, bytes);
    return result;
}
