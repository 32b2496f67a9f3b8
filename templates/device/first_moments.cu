// What the first of so many lanes holds.  All of them have merged the same sets, but each in an order of its own, which
// shows in the last bits.
template <int Lanes, typename T>
static __device__ __forceinline__ Moments<T> of_first(const Moments<T>& a)
{
    return {a.count, __shfl_sync(0xffffffffu, a.mean, 0, Lanes), __shfl_sync(0xffffffffu, a.distance, 0, Lanes)};
}
