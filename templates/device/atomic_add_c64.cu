// Adds to both parts of an element, each atomically.
static __device__ __forceinline__ void atomic_add(float2* at, float2 value)
{
    atomicAdd(&at->x, value.x);
    atomicAdd(&at->y, value.y);
}
