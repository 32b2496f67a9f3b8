// Adds a group to a row at a computed place, four elements at a time on sm_90; nothing where that is outside.
template <typename Group>
static __device__ __forceinline__ void add_scattered(const Row<float>& row, long long i, const Group& group)
{
    if (!row.inside) {
        return;
    }
    const int size = (int)(sizeof(Group) / sizeof(float));
    int j = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    #pragma unroll
    for (; j + 4 <= size; j += 4) {
        asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" : : "l"(row.start + i + j), "f"(group.at[j]),
                     "f"(group.at[j + 1]), "f"(group.at[j + 2]), "f"(group.at[j + 3]) : "memory");
    }
#endif
    #pragma unroll
    for (; j < size; ++j) {
        atomicAdd(row.start + i + j, group.at[j]);
    }
}
