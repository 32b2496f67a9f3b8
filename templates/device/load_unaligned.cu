// N elements at an address that is a multiple of sizeof(T) only: loads the two aligned blocks around them and shifts.
template <typename T, int N>
static __device__ __forceinline__ Pack<T, N, N * sizeof(T)> load_unaligned(const T* from)
{
    constexpr int bytes = N * sizeof(T);
    const unsigned int off = reinterpret_cast<unsigned long long>(from) % bytes;
    return load_aligned_blocks<T, N, bytes>(from - off / sizeof(T), off);
}
