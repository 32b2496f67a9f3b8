// A value, and where in its row it is; at -1, none that beats the value it starts with.
template <typename T>
struct Found {
    T value;
    long long at;
};

template <typename T>
static __device__ __forceinline__ Found<T> shuffled(const Found<T>& a, int d)
{
    return {__shfl_xor_sync(0xffffffffu, a.value, d), __shfl_xor_sync(0xffffffffu, a.at, d)};
}
