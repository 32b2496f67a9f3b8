// Puts the lesser of an element and a value in its place, atomically; NaN if either is.
static __device__ __forceinline__ void atomic_min(__half* at, __half value)
{
    const float other = __half2float(value);
    atomic_update<unsigned int>(at, [=](__half old) {
        return __float2half_rn(nan_min(__half2float(old), other));
    });
}
