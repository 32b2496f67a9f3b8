// Made by kgen 0.1.0 from mixed.k. Do not edit; remake it with
//     kgen compile mixed.k -o mixed_slices.cu --dtype a=f32,b=f16,c=i32 --shape a=512x512,b=512x512,c=512x512 --strides a=2048x2 --name mixed_slices
//
//     # Mixed dtypes: each operand is read in its own dtype, and the arithmetic is in float32.
//     out = a * b + cast<float>(c)
//
// Inputs:  a: float32, b: float16, c: int32
// Outputs: out: float32
//
// Chosen: rows: `a` is not dense in the order in which the outputs are walked.
// Chosen: element by element: `a` is not consecutive along rows.
// Chosen: 32-bit indices: every byte offset is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_fp16.h>

namespace kgen_mixed_slices {

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
mixed_slices_element(const float a_v, const __half b_v, const int c_v, float& out_v)
{
    out_v = a_v * __half2float(b_v) + (float)c_v;
}

// Where the elements lie: 2 dimensions, the fastest first; strides in elements.
struct mixed_slices_rows_2d_layout {
    int width;  // elements along the fastest dimension
    unsigned int extent[1];  // of groups in a row, then of the other dimensions
    unsigned int magic[1];  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int shift[1];  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
    int out_stride[1];  // of out, b and c
    int a_stride[1];
    int a_step;  // along the fastest dimension
};

// Rows, 4 elements of a row a thread.
// Launch: ceil(n / 256) blocks of 256 threads (a divisor of every SM's threads), for n groups.
// Limits: fewer than 2^31 elements, and every offset in bytes below 2^31.
// Alignment, in bytes: 16 for out and c; 8 for b.
// At a stride along rows: a.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
mixed_slices_rows_2d(const float* a_ptr,
                     const __half* b_ptr,
                     const int* c_ptr,
                     float* __restrict__ out_ptr,
                     const mixed_slices_rows_2d_layout layout,
                     const unsigned int n)
{
    const unsigned int t = blockIdx.x * 256u + threadIdx.x;
    if (t >= n) {
        return;
    }
    const unsigned int q0 = (__umulhi(t, layout.magic[0]) + t) >> layout.shift[0];
    const int c0 = (int)(t - q0 * layout.extent[0]);
    const int c1 = (int)q0;
    const int out_at = c1 * layout.out_stride[0];
    const int a_at = c1 * layout.a_stride[0];
    const int i = 4 * c0;  // the first of this thread's 4 elements of the row
    wait_for_earlier_kernels();
    if (layout.width - i >= 4) {
        const auto b_vec = *reinterpret_cast<const Pack<__half, 4, 8>*>(b_ptr + out_at + i);
        const auto c_vec = *reinterpret_cast<const Pack<int, 4, 16>*>(c_ptr + out_at + i);
        Pack<float, 4, 16> out_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            mixed_slices_element(a_ptr[a_at + (i + j) * layout.a_step], b_vec.at[j], c_vec.at[j],
                                 out_vec.at[j]);
        }
        *reinterpret_cast<Pack<float, 4, 16>*>(out_ptr + out_at + i) = out_vec;
    } else {
        #pragma unroll 1
        for (int e = i; e < layout.width; ++e) {
            mixed_slices_element(a_ptr[a_at + e * layout.a_step], b_ptr[out_at + e],
                                 c_ptr[out_at + e], out_ptr[out_at + e]);
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_mixed_slices
