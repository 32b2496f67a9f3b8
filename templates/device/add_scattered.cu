// Adds a group to a row at a computed place, element by element; nothing where that is outside.
template <typename T, typename Group>
static __device__ __forceinline__ void add_scattered(const Row<T>& row, long long i, const Group& group)
{
    if (row.inside) {
        #pragma unroll
        for (int j = 0; j < (int)(sizeof(Group) / sizeof(T)); ++j) {
            atomicAdd(row.start + i + j, group.at[j]);
        }
    }
}
