// Made by kgen 0.1.0 from quantize.k. Do not edit; remake it with
//     kgen compile quantize.k -o quantize.cu --dtype x=f32 --layout contiguous
//
//     # Two quantisations of the same values in one pass.  `sat` clamps to the range; the int8 cast rounds halves to even.
//     param inv_scale: float = 1.0
//     let   scaled = x * inv_scale
//     as_int8 = cast<int8, sat, rne>(scaled)
//     as_fp8  = cast<float8_e4m3fn, sat>(scaled)
//
// Inputs:  x: float32, inv_scale: float32 (by value)
// Outputs: as_int8: int8, as_fp8: float8_e4m3fn
//
// Layout: contiguous.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_fp8.h>

namespace kgen_quantize {

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

// One element.
static __device__ __forceinline__ void
quantize_element(const float x_v,
                 const float inv_scale_v,
                 signed char& as_int8_v,
                 __nv_fp8_e4m3& as_fp8_v)
{
    // let   scaled = x * inv_scale
    const float scaled_v = x_v * inv_scale_v;
    // as_int8 = cast<int8, sat, rne>(scaled)
    as_int8_v = (signed char)min(max(__float2int_rn(scaled_v), -128), 127);
    // as_fp8  = cast<float8_e4m3fn, sat>(scaled)
    as_fp8_v = __nv_fp8_e4m3(scaled_v);
}

// Operands in memory order, 4 elements a thread.
// Launch: ceil(n / 1024) blocks of 256 threads (a divisor of every SM's threads), for n < 2^31 elements.
// Alignment, in bytes: 16 for x; 4 for as_int8 and as_fp8.
// No other operand may overlap as_int8 and as_fp8 in memory.
extern "C" __global__ void __launch_bounds__(256)
quantize_contiguous(const float* x_ptr,
                    signed char* __restrict__ as_int8_ptr,
                    __nv_fp8_e4m3* __restrict__ as_fp8_ptr,
                    const float inv_scale_v,
                    const unsigned int n)
{
    const unsigned int i = 4u * (blockIdx.x * 256u + threadIdx.x);  // the first of this thread's 4 elements
    wait_for_earlier_kernels();
    if (i + 4 <= n) {
        const auto x_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(x_ptr + i);
        Pack<signed char, 4, 4> as_int8_vec;
        Pack<__nv_fp8_e4m3, 4, 4> as_fp8_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            quantize_element(x_vec.at[j], inv_scale_v, as_int8_vec.at[j], as_fp8_vec.at[j]);
        }
        *reinterpret_cast<Pack<signed char, 4, 4>*>(as_int8_ptr + i) = as_int8_vec;
        *reinterpret_cast<Pack<__nv_fp8_e4m3, 4, 4>*>(as_fp8_ptr + i) = as_fp8_vec;
    } else {
        #pragma unroll 1
        for (unsigned int e = i; e < n; ++e) {
            quantize_element(x_ptr[e], inv_scale_v, as_int8_ptr[e], as_fp8_ptr[e]);
        }
    }
    let_next_kernel_start();
}

// Operands in memory order, 4 elements a thread. Indices are 64-bit.
// Launch: ceil(n / 1024) blocks of 256 threads (a divisor of every SM's threads), for n elements.
// Alignment, in bytes: 16 for x; 4 for as_int8 and as_fp8.
// No other operand may overlap as_int8 and as_fp8 in memory.
extern "C" __global__ void __launch_bounds__(256)
quantize_contiguous_64bit(const float* x_ptr,
                          signed char* __restrict__ as_int8_ptr,
                          __nv_fp8_e4m3* __restrict__ as_fp8_ptr,
                          const float inv_scale_v,
                          const long long n)
{
    const long long i = 4 * (blockIdx.x * 256ll + threadIdx.x);  // the first of this thread's 4 elements
    wait_for_earlier_kernels();
    if (i + 4 <= n) {
        const auto x_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(x_ptr + i);
        Pack<signed char, 4, 4> as_int8_vec;
        Pack<__nv_fp8_e4m3, 4, 4> as_fp8_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            quantize_element(x_vec.at[j], inv_scale_v, as_int8_vec.at[j], as_fp8_vec.at[j]);
        }
        *reinterpret_cast<Pack<signed char, 4, 4>*>(as_int8_ptr + i) = as_int8_vec;
        *reinterpret_cast<Pack<__nv_fp8_e4m3, 4, 4>*>(as_fp8_ptr + i) = as_fp8_vec;
    } else {
        #pragma unroll 1
        for (long long e = i; e < n; ++e) {
            quantize_element(x_ptr[e], inv_scale_v, as_int8_ptr[e], as_fp8_ptr[e]);
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_quantize
