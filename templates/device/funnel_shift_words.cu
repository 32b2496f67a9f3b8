// Shifts Count + Block words down by `off` bytes; the first Count words are the result.  off: a multiple of Unit,
// less than Block words.
template <int Count, int Block, int Unit>
static __device__ __forceinline__ void funnel_shift_words(unsigned int* words, unsigned int off)
{
    #pragma unroll
    for (int step = Block / 2; step > 0; step /= 2) {
        #pragma unroll
        for (int k = 0; k < Count + Block - step; ++k) {
            words[k] = off & (4 * step) ? words[k + step] : words[k];
        }
    }
    #pragma unroll
    for (int k = 0; k < (Unit < 4 ? Count : 0); ++k) {
        const unsigned long long pair = static_cast<unsigned long long>(words[k + 1]) << 32 | words[k];
        words[k] = static_cast<unsigned int>(pair >> (8 * (off % 4)));
    }
}
