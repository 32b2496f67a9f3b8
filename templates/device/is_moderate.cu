// Whether nothing is lost to underflow or overflow where this is used.
static __device__ __forceinline__ bool is_moderate(float x)
{
    return x == 0 || (fabsf(x) >= 0x1p-24f && fabsf(x) < 0x1p24f);
}
