// Adds a group to a row at a computed place, element by element; nothing where there is no row.
template <typename T, typename Group>
static __device__ __forceinline__ void add_scattered(T* row, long long i, const Group& group)
{
    if (row != nullptr) {
        #pragma unroll
        for (int j = 0; j < (int)(sizeof(Group) / sizeof(T)); ++j) {
            atomicAdd(row + i + j, group.at[j]);
        }
    }
}
