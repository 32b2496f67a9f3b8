// N elements of a column at an address that is a multiple of sizeof(T) only: shifted out of the aligned blocks that
// hold them.  Those of the first and the last column may reach beyond the operand, and are read element by element.
template <int N, typename T>
static __device__ __forceinline__ Pack<T, N, sizeof(T)> load_shifted_run(const T* from, bool is_between)
{
    using Block = Pack<unsigned int, 4, 16>;
    constexpr int count = N * sizeof(T) / sizeof(Block);
    Block blocks[count + 1] = {};
    unsigned int off = 0;
    if (is_between) {
        off = reinterpret_cast<unsigned long long>(from) % sizeof(Block);
        #pragma unroll
        for (int k = 0; k <= count; ++k) {
            blocks[k] = reinterpret_cast<const Block*>(from - off / sizeof(T))[k];
        }
    } else {
        #pragma unroll
        for (int k = 0; k < count; ++k) {
            const auto read = reinterpret_cast<const Pack<T, N / count, sizeof(T)>*>(from)[k];
            memcpy(blocks + k, &read, sizeof(Block));
        }
    }
    #pragma unroll
    for (int k = 0; k < count; ++k) {
        blocks[k] = funnel_shift_blocks<sizeof(T)>(blocks[k], blocks[k + 1], off);
    }
    Pack<T, N, sizeof(T)> run;
    memcpy(&run, blocks, sizeof(run));
    return run;
}
