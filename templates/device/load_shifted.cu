// N elements that only they themselves are aligned to: the two aligned blocks that they lie in, shifted together.
// Beside the ends of an array, where these blocks may lie outside of it, element by element.
template <typename T, int N>
static __device__ __forceinline__ Pack<T, N, N * sizeof(T)> load_shifted(const T* from, bool inside)
{
    Pack<T, N, N * sizeof(T)> blocks[2];
    if (inside) {
        const int off = static_cast<int>(reinterpret_cast<unsigned long long>(from) % sizeof(blocks[0]));
        const T* first = from - off / static_cast<int>(sizeof(T));
        blocks[0] = reinterpret_cast<const Pack<T, N, N * sizeof(T)>*>(first)[0];
        blocks[1] = reinterpret_cast<const Pack<T, N, N * sizeof(T)>*>(first)[1];
        unsigned int words[2 * N * sizeof(T) / 4];
        memcpy(words, blocks, sizeof(words));
        shift_words<N * sizeof(T) / 4>(words, off);
        memcpy(blocks, words, sizeof(blocks[0]));
    } else {
        #pragma unroll
        for (int j = 0; j < N; ++j) {
            blocks[0].at[j] = from[j];
        }
    }
    return blocks[0];
}
