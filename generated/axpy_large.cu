// Made by kgen 0.1.0 from axpy.k. Do not edit; remake it with
//     kgen compile axpy.k -o axpy_large.cu --dtype x=f32,y=f32 --shape x=3000000000,y=3000000000 --name axpy_large
//
//     # BLAS's axpy: the shortest kernel that is worth having.
//     param a: float = 2.0
//     out = a * x + y
//
// Inputs:  x: float32, y: float32, a: float32 (by value)
// Outputs: out: float32
//
// Chosen: contiguous: 4 elements a thread, so that `y` moves in 16-byte accesses.
// Chosen: 64-bit indices: not every element number is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

namespace kgen_axpy_large {

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

// One element: out = a * x + y
static __device__ __forceinline__ void
axpy_large_element(const float x_v, const float y_v, const float a_v, float& out_v)
{
    out_v = a_v * x_v + y_v;
}

// Operands in memory order, 4 elements a thread. Indices are 64-bit.
// Launch: ceil(n / 1024) blocks of 256 threads (a divisor of every SM's threads), for n elements.
// Alignment, in bytes: 16 for out, x and y.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
axpy_large_contiguous_64bit(const float* x_ptr,
                            const float* y_ptr,
                            float* __restrict__ out_ptr,
                            const float a_v,
                            const long long n)
{
    const long long i = 4 * (blockIdx.x * 256ll + threadIdx.x);  // the first of this thread's 4 elements
    wait_for_earlier_kernels();
    if (i + 4 <= n) {
        const auto x_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(x_ptr + i);
        const auto y_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(y_ptr + i);
        Pack<float, 4, 16> out_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            axpy_large_element(x_vec.at[j], y_vec.at[j], a_v, out_vec.at[j]);
        }
        *reinterpret_cast<Pack<float, 4, 16>*>(out_ptr + i) = out_vec;
    } else {
        #pragma unroll 1
        for (long long e = i; e < n; ++e) {
            axpy_large_element(x_ptr[e], y_ptr[e], a_v, out_ptr[e]);
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_axpy_large
