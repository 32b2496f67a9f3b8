// Made by kgen 0.1.0 from dequantize.k. Do not edit; remake it with
//     kgen compile dequantize.k -o dequantize.cu --dtype q=i8,scale=f32 --layout contiguous
//
//     # Dequantises int8 with one scale a row: q is (rows, columns), scale is (rows, 1).
//     input q: int8, scale: float
//     out: half = cast<float>(q) * scale
//
// Inputs:  q: int8, scale: float32
// Outputs: out: float16
//
// Layout: contiguous.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_fp16.h>

namespace kgen_dequantize {

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

// One element: out: half = cast<float>(q) * scale
static __device__ __forceinline__ void
dequantize_element(const signed char q_v, const float scale_v, __half& out_v)
{
    out_v = __float2half_rn((float)q_v * scale_v);
}

// Operands in memory order, 4 elements a thread.
// Launch: ceil(n / 1024) blocks of 256 threads (a divisor of every SM's threads), for n < 2^31 elements.
// Alignment, in bytes: 16 for scale; 8 for out; 4 for q.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
dequantize_contiguous(const signed char* q_ptr,
                      const float* scale_ptr,
                      __half* __restrict__ out_ptr,
                      const unsigned int n)
{
    const unsigned int i = 4u * (blockIdx.x * 256u + threadIdx.x);  // the first of this thread's 4 elements
    wait_for_earlier_kernels();
    if (i + 4 <= n) {
        const auto q_vec = *reinterpret_cast<const Pack<signed char, 4, 4>*>(q_ptr + i);
        const auto scale_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(scale_ptr + i);
        Pack<__half, 4, 8> out_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            dequantize_element(q_vec.at[j], scale_vec.at[j], out_vec.at[j]);
        }
        *reinterpret_cast<Pack<__half, 4, 8>*>(out_ptr + i) = out_vec;
    } else {
        #pragma unroll 1
        for (unsigned int e = i; e < n; ++e) {
            dequantize_element(q_ptr[e], scale_ptr[e], out_ptr[e]);
        }
    }
    let_next_kernel_start();
}

// Operands in memory order, 4 elements a thread. Indices are 64-bit.
// Launch: ceil(n / 1024) blocks of 256 threads (a divisor of every SM's threads), for n elements.
// Alignment, in bytes: 16 for scale; 8 for out; 4 for q.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
dequantize_contiguous_64bit(const signed char* q_ptr,
                            const float* scale_ptr,
                            __half* __restrict__ out_ptr,
                            const long long n)
{
    const long long i = 4 * (blockIdx.x * 256ll + threadIdx.x);  // the first of this thread's 4 elements
    wait_for_earlier_kernels();
    if (i + 4 <= n) {
        const auto q_vec = *reinterpret_cast<const Pack<signed char, 4, 4>*>(q_ptr + i);
        const auto scale_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(scale_ptr + i);
        Pack<__half, 4, 8> out_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            dequantize_element(q_vec.at[j], scale_vec.at[j], out_vec.at[j]);
        }
        *reinterpret_cast<Pack<__half, 4, 8>*>(out_ptr + i) = out_vec;
    } else {
        #pragma unroll 1
        for (long long e = i; e < n; ++e) {
            dequantize_element(q_ptr[e], scale_ptr[e], out_ptr[e]);
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_dequantize
