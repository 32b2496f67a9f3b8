// Made by kgen 0.1.0 from swiglu.k. Do not edit; remake it with
//     kgen compile swiglu.k -o swiglu_f16.cu --dtype gate=f16,up=f16 --layout contiguous --name swiglu_f16
//
//     # The gate of a SwiGLU feed-forward layer.
//     input  gate, up                       # optional: fixes the order of the arguments
//     param  alpha = 1.0                    # a scalar passed by value, with a default
//     def    swish(x) = x / (1 + exp(-x))   # an expression function, inlined
//     let    g = swish(gate)                # a temporary: never written to memory
//     out    = alpha * g * up               # a plain assignment is an output
//
// Inputs:  gate: float16, up: float16, alpha: float32 (by value)
// Outputs: out: float16
//
// Layout: contiguous.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_fp16.h>

namespace kgen_swiglu_f16 {

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

// a / b, rounded to nearest unless below 2^-100, where b is at least 1, or NaN.  Both are scaled, since 1 / b is no
// normal number for the largest b.
static __device__ __forceinline__ float divide_by_large(float a, float b)
{
    const float dividend = 0.25f * a, divisor = 0.25f * b, near = reciprocal_approx(divisor);
    const float q = dividend * near, rest = fmaf(-q, divisor, dividend), nearer = fmaf(rest, near, q);
    return fabsf(rest) > 0.0f ? fmaf(fmaf(-nearer, divisor, dividend), near, nearer) : q;  // not infinite
}

// One element.
static __device__ __forceinline__ void
swiglu_f16_element(const __half gate_v, const __half up_v, const float alpha_v, __half& out_v)
{
    const float gate_f32 = __half2float(gate_v);
    // let    g = swish(gate)
    const float g_v = divide_by_large(gate_f32, 1.0f + expf(-gate_f32));
    // out    = alpha * g * up
    out_v = __float2half_rn(alpha_v * g_v * __half2float(up_v));
}

// Operands in memory order, 8 elements a thread.
// Launch: ceil(n / 2048) blocks of 256 threads (a divisor of every SM's threads), for n < 2^31 elements.
// Alignment, in bytes: 16 for out, gate and up.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
swiglu_f16_contiguous(const __half* gate_ptr,
                      const __half* up_ptr,
                      __half* __restrict__ out_ptr,
                      const float alpha_v,
                      const unsigned int n)
{
    const unsigned int i = 8u * (blockIdx.x * 256u + threadIdx.x);  // the first of this thread's 8 elements
    wait_for_earlier_kernels();
    if (i + 8 <= n) {
        const auto gate_vec = *reinterpret_cast<const Pack<__half, 8, 16>*>(gate_ptr + i);
        const auto up_vec = *reinterpret_cast<const Pack<__half, 8, 16>*>(up_ptr + i);
        Pack<__half, 8, 16> out_vec;
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            swiglu_f16_element(gate_vec.at[j], up_vec.at[j], alpha_v, out_vec.at[j]);
        }
        *reinterpret_cast<Pack<__half, 8, 16>*>(out_ptr + i) = out_vec;
    } else {
        #pragma unroll 1
        for (unsigned int e = i; e < n; ++e) {
            swiglu_f16_element(gate_ptr[e], up_ptr[e], alpha_v, out_ptr[e]);
        }
    }
    let_next_kernel_start();
}

// Operands in memory order, 8 elements a thread. Indices are 64-bit.
// Launch: ceil(n / 2048) blocks of 256 threads (a divisor of every SM's threads), for n elements.
// Alignment, in bytes: 16 for out, gate and up.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
swiglu_f16_contiguous_64bit(const __half* gate_ptr,
                            const __half* up_ptr,
                            __half* __restrict__ out_ptr,
                            const float alpha_v,
                            const long long n)
{
    const long long i = 8 * (blockIdx.x * 256ll + threadIdx.x);  // the first of this thread's 8 elements
    wait_for_earlier_kernels();
    if (i + 8 <= n) {
        const auto gate_vec = *reinterpret_cast<const Pack<__half, 8, 16>*>(gate_ptr + i);
        const auto up_vec = *reinterpret_cast<const Pack<__half, 8, 16>*>(up_ptr + i);
        Pack<__half, 8, 16> out_vec;
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            swiglu_f16_element(gate_vec.at[j], up_vec.at[j], alpha_v, out_vec.at[j]);
        }
        *reinterpret_cast<Pack<__half, 8, 16>*>(out_ptr + i) = out_vec;
    } else {
        #pragma unroll 1
        for (long long e = i; e < n; ++e) {
            swiglu_f16_element(gate_ptr[e], up_ptr[e], alpha_v, out_ptr[e]);
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_swiglu_f16
