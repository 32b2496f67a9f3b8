// Made by kgen 0.1.0 from gelu.k. Do not edit; remake it with
//     kgen compile gelu.k -o gelu_bf16.cu --dtype x=bf16,bias=bf16 --layout contiguous --name gelu_bf16
//
//     # GELU with a bias, fused: y = gelu(x + bias).
//     let z = x + bias
//     y = gelu(z)
//
// Inputs:  x: bfloat16, bias: bfloat16
// Outputs: y: bfloat16
//
// Layout: contiguous.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_bf16.h>

namespace kgen_gelu_bf16 {

// N consecutive elements, loaded and stored by accesses of Bytes bytes.
template <typename T, int N, int Bytes>
struct alignas(Bytes) Pack {
    T at[N];
};

// Programmatic dependent launch: waits until the kernels before this one are complete and their writes are visible.
// Every thread calls it before its first access to global memory.
static __device__ __forceinline__ void wait_for_earlier_kernels()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Programmatic dependent launch: the next kernel in the stream may start once all blocks are here or have ended.  It
// waits for this one before it accesses memory.
static __device__ __forceinline__ void let_next_kernel_start()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// 1 / b within 1 ulp, without checks; 0 where that is less than 2^-126.
static __device__ __forceinline__ float reciprocal_approx(float b)
{
#if defined(__CUDA_ARCH__)
    float result;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(b));
    return result;
#else
    return 1.0f / b;
#endif
}

// The standard normal distribution function.  The tail below -t is exp(-t * t / 2), corrected for the rounding of the
// square, times a polynomial in u = t / (t + 16 / 7).
static __device__ __forceinline__ float normal_cdf(float x)
{
    const float t = fabsf(x) > 15.0f ? 15.0f : fabsf(x);
    const float d = fmaf(0.4375f, t, 1.0f);
    const float v = reciprocal_approx(d);
    const float u = 0.4375f * t * v;
    float p = -0.0379580781f;
    p = fmaf(p, u, 0.139328584f);
    p = fmaf(p, u, -0.184268996f);
    p = fmaf(p, u, 0.126904964f);
    p = fmaf(p, u, -0.0863507986f);
    p = fmaf(p, u, 0.0116685089f);
    p = fmaf(p, u, 0.0395830348f);
    p = fmaf(p, u, 0.095130153f);
    p = fmaf(p, u, -0.0176346935f);
    p = fmaf(p, u, -0.411867619f);
    p = fmaf(p, u, 0.5f);
    const float square = t * t;
    const float e = expf(-0.5f * square);
    const float tail = fmaf(e, -0.5f * fmaf(t, t, -square), e) * v * p;
    return x < 0.0f ? tail : 1.0f - tail;
}

// One element.
static __device__ __forceinline__ void
gelu_bf16_element(const __nv_bfloat16 x_v, const __nv_bfloat16 bias_v, __nv_bfloat16& y_v)
{
    // let z = x + bias
    const float z_v = __bfloat162float(x_v) + __bfloat162float(bias_v);
    // y = gelu(z)
    y_v = __float2bfloat16_rn(z_v * normal_cdf(z_v));
}

// Operands in memory order, 8 elements a thread.
// Launch: ceil(n / 2048) blocks of 256 threads (a divisor of every SM's threads), for n < 2^31 elements.
// Alignment, in bytes: 16 for y, x and bias.
// No other operand may overlap y in memory.
extern "C" __global__ void __launch_bounds__(256)
gelu_bf16_contiguous(const __nv_bfloat16* x_ptr,
                     const __nv_bfloat16* bias_ptr,
                     __nv_bfloat16* __restrict__ y_ptr,
                     const unsigned int n)
{
    const unsigned int i = 8u * (blockIdx.x * 256u + threadIdx.x);  // the first of this thread's 8 elements
    wait_for_earlier_kernels();
    if (i + 8 <= n) {
        const auto x_vec = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(x_ptr + i);
        const auto bias_vec = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(bias_ptr + i);
        Pack<__nv_bfloat16, 8, 16> y_vec;
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            gelu_bf16_element(x_vec.at[j], bias_vec.at[j], y_vec.at[j]);
        }
        *reinterpret_cast<Pack<__nv_bfloat16, 8, 16>*>(y_ptr + i) = y_vec;
    } else {
        #pragma unroll 1
        for (unsigned int e = i; e < n; ++e) {
            gelu_bf16_element(x_ptr[e], bias_ptr[e], y_ptr[e]);
        }
    }
    let_next_kernel_start();
}

// Operands in memory order, 8 elements a thread. Indices are 64-bit.
// Launch: ceil(n / 2048) blocks of 256 threads (a divisor of every SM's threads), for n elements.
// Alignment, in bytes: 16 for y, x and bias.
// No other operand may overlap y in memory.
extern "C" __global__ void __launch_bounds__(256)
gelu_bf16_contiguous_64bit(const __nv_bfloat16* x_ptr,
                           const __nv_bfloat16* bias_ptr,
                           __nv_bfloat16* __restrict__ y_ptr,
                           const long long n)
{
    const long long i = 8 * (blockIdx.x * 256ll + threadIdx.x);  // the first of this thread's 8 elements
    wait_for_earlier_kernels();
    if (i + 8 <= n) {
        const auto x_vec = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(x_ptr + i);
        const auto bias_vec = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(bias_ptr + i);
        Pack<__nv_bfloat16, 8, 16> y_vec;
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            gelu_bf16_element(x_vec.at[j], bias_vec.at[j], y_vec.at[j]);
        }
        *reinterpret_cast<Pack<__nv_bfloat16, 8, 16>*>(y_ptr + i) = y_vec;
    } else {
        #pragma unroll 1
        for (long long e = i; e < n; ++e) {
            gelu_bf16_element(x_ptr[e], bias_ptr[e], y_ptr[e]);
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_gelu_bf16
