// A group of a row at a computed place; zeros, and no access to memory, where there is no row.
template <typename Group, typename T>
static __device__ __forceinline__ Group load_gathered(const T* row, long long i)
{
    return row != nullptr ? *reinterpret_cast<const Group*>(row + i) : Group();
}
