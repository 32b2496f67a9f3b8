// x as fp8, to nearest even; NaN past the largest finite value (448), where CUDA's conversion saturates.
static __device__ __forceinline__ __nv_fp8_e4m3 to_e4m3(float x)
{
    __nv_fp8_e4m3 result(x);
    if (fabsf(x) > 464.0f) result.__x |= 0x7f;
    return result;
}
