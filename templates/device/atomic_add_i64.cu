// Adds to an element, atomically: CUDA has this function for unsigned integers, whose sums have the same bits.
static __device__ __forceinline__ void atomic_add(long long* at, long long value)
{
    atomicAdd(reinterpret_cast<unsigned long long*>(at), (unsigned long long)value);
}
