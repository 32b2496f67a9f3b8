// Made by kgen 0.1.0 from mixed.k. Do not edit; remake it with
//     kgen compile mixed.k -o mixed.cu --dtype a=f32,b=f16,c=i32 --layout contiguous
//
//     # Mixed dtypes: each operand is read in its own dtype, and the arithmetic is in float32.
//     out = a * b + cast<float>(c)
//
// Inputs:  a: float32, b: float16, c: int32
// Outputs: out: float32
//
// Layout: contiguous.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_fp16.h>

namespace kgen_mixed {

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

// One element: out = a * b + cast<float>(c)
static __device__ __forceinline__ void
mixed_element(const float a_v, const __half b_v, const int c_v, float& out_v)
{
    out_v = a_v * __half2float(b_v) + (float)c_v;
}

// Operands in memory order, 4 elements a thread.
// Launch: ceil(n / 1024) blocks of 256 threads (a divisor of every SM's threads), for n < 2^31 elements.
// Alignment, in bytes: 16 for out, a and c; 8 for b.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
mixed_contiguous(const float* a_ptr,
                 const __half* b_ptr,
                 const int* c_ptr,
                 float* __restrict__ out_ptr,
                 const unsigned int n)
{
    const unsigned int i = 4u * (blockIdx.x * 256u + threadIdx.x);  // the first of this thread's 4 elements
    wait_for_earlier_kernels();
    if (i + 4 <= n) {
        const auto a_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(a_ptr + i);
        const auto b_vec = *reinterpret_cast<const Pack<__half, 4, 8>*>(b_ptr + i);
        const auto c_vec = *reinterpret_cast<const Pack<int, 4, 16>*>(c_ptr + i);
        Pack<float, 4, 16> out_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            mixed_element(a_vec.at[j], b_vec.at[j], c_vec.at[j], out_vec.at[j]);
        }
        *reinterpret_cast<Pack<float, 4, 16>*>(out_ptr + i) = out_vec;
    } else {
        #pragma unroll 1
        for (unsigned int e = i; e < n; ++e) {
            mixed_element(a_ptr[e], b_ptr[e], c_ptr[e], out_ptr[e]);
        }
    }
    let_next_kernel_start();
}

// Operands in memory order, 4 elements a thread. Indices are 64-bit.
// Launch: ceil(n / 1024) blocks of 256 threads (a divisor of every SM's threads), for n elements.
// Alignment, in bytes: 16 for out, a and c; 8 for b.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
mixed_contiguous_64bit(const float* a_ptr,
                       const __half* b_ptr,
                       const int* c_ptr,
                       float* __restrict__ out_ptr,
                       const long long n)
{
    const long long i = 4 * (blockIdx.x * 256ll + threadIdx.x);  // the first of this thread's 4 elements
    wait_for_earlier_kernels();
    if (i + 4 <= n) {
        const auto a_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(a_ptr + i);
        const auto b_vec = *reinterpret_cast<const Pack<__half, 4, 8>*>(b_ptr + i);
        const auto c_vec = *reinterpret_cast<const Pack<int, 4, 16>*>(c_ptr + i);
        Pack<float, 4, 16> out_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            mixed_element(a_vec.at[j], b_vec.at[j], c_vec.at[j], out_vec.at[j]);
        }
        *reinterpret_cast<Pack<float, 4, 16>*>(out_ptr + i) = out_vec;
    } else {
        #pragma unroll 1
        for (long long e = i; e < n; ++e) {
            mixed_element(a_ptr[e], b_ptr[e], c_ptr[e], out_ptr[e]);
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_mixed
