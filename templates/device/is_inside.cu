// Whether 0 <= place < extent.
static __device__ __forceinline__ bool is_inside(long long place, long long extent)
{
    return (unsigned long long)place < (unsigned long long)extent;
}
