// The element at an offset; 0, and no access to memory, where that is outside of the array.
template <typename T>
static __device__ __forceinline__ T gather(const T* from, long long offset, bool inside)
{
    return inside ? from[offset] : T();
}
