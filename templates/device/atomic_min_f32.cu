// Puts the lesser of an element and a value in its place, atomically; NaN if either is.
static __device__ __forceinline__ void atomic_min(float* at, float value)
{
    atomic_update<unsigned int>(at, [=](float old) { return nan_min(old, value); });
}
