// Moves two blocks of Count words each down by `off` bytes, a multiple of Unit and fewer than a block's; the first of
// them is the result.
template <int Count, int Unit>
static __device__ __forceinline__ void shift_words(unsigned int* words, unsigned int off)
{
    #pragma unroll
    for (int step = Count / 2; step > 0; step /= 2) {
        #pragma unroll
        for (int k = 0; k < 2 * Count - step; ++k) {
            words[k] = off & (4 * step) ? words[k + step] : words[k];
        }
    }
    #pragma unroll
    for (int k = 0; k < (Unit < 4 ? Count : 0); ++k) {
        const unsigned long long pair = static_cast<unsigned long long>(words[k + 1]) << 32 | words[k];
        words[k] = static_cast<unsigned int>(pair >> (8 * (off % 4)));
    }
}
