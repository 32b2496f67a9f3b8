// The block that begins `off` bytes into `first`, where `second` follows it in memory.  off: a multiple of Unit.
template <int Unit, typename Block>
static __device__ __forceinline__ Block funnel_shift_blocks(Block first, Block second, unsigned int off)
{
    unsigned int words[2 * sizeof(Block) / 4];
    memcpy(words, &first, sizeof(Block));
    memcpy(words + sizeof(Block) / 4, &second, sizeof(Block));
    funnel_shift_words<sizeof(Block) / 4, sizeof(Block) / 4, Unit>(words, off);
    memcpy(&first, words, sizeof(Block));
    return first;
}
