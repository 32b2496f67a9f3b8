// Adds a group to a row at a computed place, eight elements at a time on sm_90; nothing where that is outside.
template <typename Group>
static __device__ __forceinline__ void add_scattered(const Row<__half>& row, long long i, const Group& group)
{
    if (!row.inside) {
        return;
    }
    const int size = (int)(sizeof(Group) / sizeof(__half));
    int j = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    #pragma unroll
    for (; j + 8 <= size; j += 8) {
        unsigned int pairs[4];
        memcpy(pairs, group.at + j, sizeof(pairs));
        asm volatile("red.global.add.noftz.v4.f16x2 [%0], {%1, %2, %3, %4};" : : "l"(row.start + i + j), "r"(pairs[0]),
                     "r"(pairs[1]), "r"(pairs[2]), "r"(pairs[3]) : "memory");
    }
#endif
    #pragma unroll
    for (; j < size; ++j) {
        atomicAdd(row.start + i + j, group.at[j]);
    }
}
