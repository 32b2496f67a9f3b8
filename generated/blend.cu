// Made by kgen 0.1.0 from blend.k. Do not edit; remake it with
//     kgen compile blend.k -o blend.cu --dtype over=bf16,under=bf16,mask=u8 --layout contiguous
//
//     # Blends one bfloat16 layer over another by a mask of bytes: computed in float32, rounded once.
//     input over: bf16, under: bf16, mask: u8
//     let t = cast<float>(mask) / 255
//     out: bf16 = under + t * (over - under)
//
// Inputs:  over: bfloat16, under: bfloat16, mask: uint8
// Outputs: out: bfloat16
//
// Layout: contiguous.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_bf16.h>

namespace kgen_blend {

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

// a / c, rounded to nearest, where high + low is 1 / c to 46 bits and c has at most 20 significant bits: no quotient is
// within 2^-45 of a tie.  a is an integer, or has fewer exponent bits than a float, so that low * a is no subnormal.
static __device__ __forceinline__ float divide_constant(float a, float high, float low)
{
    return fmaf(a, high, a * low);
}

// One element.
static __device__ __forceinline__ void
blend_element(const __nv_bfloat16 over_v,
              const __nv_bfloat16 under_v,
              const unsigned char mask_v,
              __nv_bfloat16& out_v)
{
    const float under_f32 = __bfloat162float(under_v);
    // let t = cast<float>(mask) / 255
    const float t_v = divide_constant((float)mask_v, 0.0039215684f, 2.337437e-10f /* 1 / 255.0f */);
    // out: bf16 = under + t * (over - under)
    out_v = __float2bfloat16_rn(under_f32 + t_v * (__bfloat162float(over_v) - under_f32));
}

// Operands in memory order, 8 elements a thread.
// Launch: ceil(n / 2048) blocks of 256 threads (a divisor of every SM's threads), for n < 2^31 elements.
// Alignment, in bytes: 16 for out, over and under; 8 for mask.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
blend_contiguous(const __nv_bfloat16* over_ptr,
                 const __nv_bfloat16* under_ptr,
                 const unsigned char* mask_ptr,
                 __nv_bfloat16* __restrict__ out_ptr,
                 const unsigned int n)
{
    const unsigned int i = 8u * (blockIdx.x * 256u + threadIdx.x);  // the first of this thread's 8 elements
    wait_for_earlier_kernels();
    if (i + 8 <= n) {
        const auto over_vec = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(over_ptr + i);
        const auto under_vec = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(under_ptr + i);
        const auto mask_vec = *reinterpret_cast<const Pack<unsigned char, 8, 8>*>(mask_ptr + i);
        Pack<__nv_bfloat16, 8, 16> out_vec;
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            blend_element(over_vec.at[j], under_vec.at[j], mask_vec.at[j], out_vec.at[j]);
        }
        *reinterpret_cast<Pack<__nv_bfloat16, 8, 16>*>(out_ptr + i) = out_vec;
    } else {
        #pragma unroll 1
        for (unsigned int e = i; e < n; ++e) {
            blend_element(over_ptr[e], under_ptr[e], mask_ptr[e], out_ptr[e]);
        }
    }
    let_next_kernel_start();
}

// Operands in memory order, 8 elements a thread. Indices are 64-bit.
// Launch: ceil(n / 2048) blocks of 256 threads (a divisor of every SM's threads), for n elements.
// Alignment, in bytes: 16 for out, over and under; 8 for mask.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
blend_contiguous_64bit(const __nv_bfloat16* over_ptr,
                       const __nv_bfloat16* under_ptr,
                       const unsigned char* mask_ptr,
                       __nv_bfloat16* __restrict__ out_ptr,
                       const long long n)
{
    const long long i = 8 * (blockIdx.x * 256ll + threadIdx.x);  // the first of this thread's 8 elements
    wait_for_earlier_kernels();
    if (i + 8 <= n) {
        const auto over_vec = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(over_ptr + i);
        const auto under_vec = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(under_ptr + i);
        const auto mask_vec = *reinterpret_cast<const Pack<unsigned char, 8, 8>*>(mask_ptr + i);
        Pack<__nv_bfloat16, 8, 16> out_vec;
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            blend_element(over_vec.at[j], under_vec.at[j], mask_vec.at[j], out_vec.at[j]);
        }
        *reinterpret_cast<Pack<__nv_bfloat16, 8, 16>*>(out_ptr + i) = out_vec;
    } else {
        #pragma unroll 1
        for (long long e = i; e < n; ++e) {
            blend_element(over_ptr[e], under_ptr[e], mask_ptr[e], out_ptr[e]);
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_blend
