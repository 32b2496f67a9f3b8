// x as fp8, to nearest even; infinity past the largest finite value (57344), where CUDA's conversion saturates.
static __device__ __forceinline__ __nv_fp8_e5m2 to_e5m2(float x)
{
    __nv_fp8_e5m2 result(x);
    if (fabsf(x) >= 61440.0f) result.__x = (result.__x & 0x80) | 0x7c;
    return result;
}
