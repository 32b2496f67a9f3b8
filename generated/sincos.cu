// Made by kgen 0.1.0 from sincos.k. Do not edit; remake it with
//     kgen compile sincos.k -o sincos.cu --dtype x=f32 --layout contiguous
//
//     # Two outputs of one input, in one pass over memory.
//     s = sin(x)
//     c = cos(x)
//
// Inputs:  x: float32
// Outputs: s: float32, c: float32
//
// Layout: contiguous.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

namespace kgen_sincos {

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
sincos_element(const float x_v, float& s_v, float& c_v)
{
    // s = sin(x)
    s_v = sinf(x_v);
    // c = cos(x)
    c_v = cosf(x_v);
}

// Operands in memory order, 4 elements a thread.
// Launch: ceil(n / 1024) blocks of 256 threads (a divisor of every SM's threads), for n < 2^31 elements.
// Alignment, in bytes: 16 for s, c and x.
// No other operand may overlap s and c in memory.
extern "C" __global__ void __launch_bounds__(256)
sincos_contiguous(const float* x_ptr,
                  float* __restrict__ s_ptr,
                  float* __restrict__ c_ptr,
                  const unsigned int n)
{
    const unsigned int i = 4u * (blockIdx.x * 256u + threadIdx.x);  // the first of this thread's 4 elements
    wait_for_earlier_kernels();
    if (i + 4 <= n) {
        const auto x_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(x_ptr + i);
        Pack<float, 4, 16> s_vec;
        Pack<float, 4, 16> c_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            sincos_element(x_vec.at[j], s_vec.at[j], c_vec.at[j]);
        }
        *reinterpret_cast<Pack<float, 4, 16>*>(s_ptr + i) = s_vec;
        *reinterpret_cast<Pack<float, 4, 16>*>(c_ptr + i) = c_vec;
    } else {
        #pragma unroll 1
        for (unsigned int e = i; e < n; ++e) {
            sincos_element(x_ptr[e], s_ptr[e], c_ptr[e]);
        }
    }
    let_next_kernel_start();
}

// Operands in memory order, 4 elements a thread. Indices are 64-bit.
// Launch: ceil(n / 1024) blocks of 256 threads (a divisor of every SM's threads), for n elements.
// Alignment, in bytes: 16 for s, c and x.
// No other operand may overlap s and c in memory.
extern "C" __global__ void __launch_bounds__(256)
sincos_contiguous_64bit(const float* x_ptr,
                        float* __restrict__ s_ptr,
                        float* __restrict__ c_ptr,
                        const long long n)
{
    const long long i = 4 * (blockIdx.x * 256ll + threadIdx.x);  // the first of this thread's 4 elements
    wait_for_earlier_kernels();
    if (i + 4 <= n) {
        const auto x_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(x_ptr + i);
        Pack<float, 4, 16> s_vec;
        Pack<float, 4, 16> c_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            sincos_element(x_vec.at[j], s_vec.at[j], c_vec.at[j]);
        }
        *reinterpret_cast<Pack<float, 4, 16>*>(s_ptr + i) = s_vec;
        *reinterpret_cast<Pack<float, 4, 16>*>(c_ptr + i) = c_vec;
    } else {
        #pragma unroll 1
        for (long long e = i; e < n; ++e) {
            sincos_element(x_ptr[e], s_ptr[e], c_ptr[e]);
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_sincos
