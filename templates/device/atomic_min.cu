// Puts the lesser of an integer of 8 or 16 bits and a value in its place, atomically.
template <typename T>
static __device__ __forceinline__ void atomic_min(T* at, int value)
{
    atomic_update<unsigned int>(at, [=](T old) { return value < old ? value : old; });
}
