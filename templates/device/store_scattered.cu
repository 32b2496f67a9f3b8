// Writes a group of a row at a computed place; nothing where there is no row.
template <typename T, typename Group>
static __device__ __forceinline__ void store_scattered(T* row, long long i, const Group& group)
{
    if (row != nullptr) {
        *reinterpret_cast<Group*>(row + i) = group;
    }
}
