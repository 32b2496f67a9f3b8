// N elements that only they themselves are aligned to: the two aligned blocks that they lie in, shifted together.
template <typename T, int N>
static __device__ __forceinline__ Pack<T, N, N * sizeof(T)> load_shifted(const T* from)
{
    using Block = Pack<T, N, N * sizeof(T)>;
    const unsigned int off = reinterpret_cast<unsigned long long>(from) % sizeof(Block);
    const auto blocks = reinterpret_cast<const Block*>(from - off / sizeof(T));
    Block pair[2] = {blocks[0], blocks[1]};
    unsigned int words[2 * sizeof(Block) / 4];
    memcpy(words, pair, sizeof(words));
    shift_words<sizeof(Block) / 4>(words, off);
    memcpy(pair, words, sizeof(Block));
    return pair[0];
}
