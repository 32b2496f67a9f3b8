// Made by kgen 0.1.0 from morton.k. Do not edit; remake it with
//     kgen compile morton.k -o morton.cu --dtype x=u16,y=u16 --layout contiguous
//
//     # Z-order (Morton) codes: the bits of two 16-bit coordinates, interleaved.
//     input x: u16, y: u16
//
//     def spread8(v) = (v | (v << 8)) & 0x00ff00ff
//     def spread4(v) = (v | (v << 4)) & 0x0f0f0f0f
//     def spread2(v) = (v | (v << 2)) & 0x33333333
//     def spread1(v) = (v | (v << 1)) & 0x55555555
//     def spread(v)  = spread1(spread2(spread4(spread8(v))))
//
//     code = spread(cast<u32>(x)) | spread(cast<u32>(y)) << 1
//
// Inputs:  x: uint16, y: uint16
// Outputs: code: uint32
//
// Layout: contiguous.

namespace kgen_morton {

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

// One element: code = spread(cast<u32>(x)) | spread(cast<u32>(y)) << 1
static __device__ __forceinline__ void
morton_element(const unsigned short x_v, const unsigned short y_v, unsigned int& code_v)
{
    const unsigned int x_u32 = (unsigned int)x_v;
    const unsigned int t = (x_u32 | (x_u32 << 8)) & 0x00ff00ffu;
    const unsigned int t2 = (t | (t << 4)) & 0x0f0f0f0fu;
    const unsigned int t3 = (t2 | (t2 << 2)) & 0x33333333u;
    const unsigned int y_u32 = (unsigned int)y_v;
    const unsigned int t4 = (y_u32 | (y_u32 << 8)) & 0x00ff00ffu;
    const unsigned int t5 = (t4 | (t4 << 4)) & 0x0f0f0f0fu;
    const unsigned int t6 = (t5 | (t5 << 2)) & 0x33333333u;
    code_v = ((t3 | (t3 << 1)) & 0x55555555u) | (((t6 | (t6 << 1)) & 0x55555555u) << 1);
}

// Operands in memory order, 4 elements a thread.
// Launch: ceil(n / 1024) blocks of 256 threads (a divisor of every SM's threads), for n < 2^31 elements.
// Alignment, in bytes: 16 for code; 8 for x and y.
// No other operand may overlap code in memory.
extern "C" __global__ void __launch_bounds__(256)
morton_contiguous(const unsigned short* x_ptr,
                  const unsigned short* y_ptr,
                  unsigned int* __restrict__ code_ptr,
                  const unsigned int n)
{
    const unsigned int i = 4u * (blockIdx.x * 256u + threadIdx.x);  // the first of this thread's 4 elements
    wait_for_earlier_kernels();
    if (i + 4 <= n) {
        const auto x_vec = *reinterpret_cast<const Pack<unsigned short, 4, 8>*>(x_ptr + i);
        const auto y_vec = *reinterpret_cast<const Pack<unsigned short, 4, 8>*>(y_ptr + i);
        Pack<unsigned int, 4, 16> code_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            morton_element(x_vec.at[j], y_vec.at[j], code_vec.at[j]);
        }
        *reinterpret_cast<Pack<unsigned int, 4, 16>*>(code_ptr + i) = code_vec;
    } else {
        #pragma unroll 1
        for (unsigned int e = i; e < n; ++e) {
            morton_element(x_ptr[e], y_ptr[e], code_ptr[e]);
        }
    }
    let_next_kernel_start();
}

// Operands in memory order, 4 elements a thread. Indices are 64-bit.
// Launch: ceil(n / 1024) blocks of 256 threads (a divisor of every SM's threads), for n elements.
// Alignment, in bytes: 16 for code; 8 for x and y.
// No other operand may overlap code in memory.
extern "C" __global__ void __launch_bounds__(256)
morton_contiguous_64bit(const unsigned short* x_ptr,
                        const unsigned short* y_ptr,
                        unsigned int* __restrict__ code_ptr,
                        const long long n)
{
    const long long i = 4 * (blockIdx.x * 256ll + threadIdx.x);  // the first of this thread's 4 elements
    wait_for_earlier_kernels();
    if (i + 4 <= n) {
        const auto x_vec = *reinterpret_cast<const Pack<unsigned short, 4, 8>*>(x_ptr + i);
        const auto y_vec = *reinterpret_cast<const Pack<unsigned short, 4, 8>*>(y_ptr + i);
        Pack<unsigned int, 4, 16> code_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            morton_element(x_vec.at[j], y_vec.at[j], code_vec.at[j]);
        }
        *reinterpret_cast<Pack<unsigned int, 4, 16>*>(code_ptr + i) = code_vec;
    } else {
        #pragma unroll 1
        for (long long e = i; e < n; ++e) {
            morton_element(x_ptr[e], y_ptr[e], code_ptr[e]);
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_morton
