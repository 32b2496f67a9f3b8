// A value, and where in its row it is: at 0 until one beats the value that it starts with.
template <typename T, typename Place>
struct Found {
    T value;
    Place at;
};

template <typename T, typename Place>
static __device__ __forceinline__ Found<T, Place> shuffled(const Found<T, Place>& a, int d)
{
    return {__shfl_xor_sync(0xffffffffu, a.value, d), __shfl_xor_sync(0xffffffffu, a.at, d)};
}
