// Adds to an integer of 8 or 16 bits, atomically.
template <typename T>
static __device__ __forceinline__ void atomic_add(T* at, int value)
{
    atomic_update<unsigned int>(at, [=](T old) { return (T)(old + value); });
}
