// Made by kgen 0.1.0 from dequantize.k. Do not edit; remake it with
//     kgen compile dequantize.k -o dequantize_rows.cu --dtype q=i8,scale=f32 --shape 'q=?x?,scale=?x1' --name dequantize_rows
//
//     # Dequantises int8 with one scale a row: q is (rows, columns), scale is (rows, 1).
//     input q: int8, scale: float
//     out: half = cast<float>(q) * scale
//
// Inputs:  q: int8, scale: float32
// Outputs: out: float16
//
// Chosen: flat: `scale` is not dense, and found element by element.
// Chosen: 32-bit indices: every byte offset is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_fp16.h>

namespace kgen_dequantize_rows {

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
dequantize_rows_element(const signed char q_v, const float scale_v, __half& out_v)
{
    out_v = __float2half_rn((float)q_v * scale_v);
}

// Where the elements lie: 2 dimensions, the fastest first; strides in elements.
struct dequantize_rows_flat_2d_layout {
    unsigned int extent[1];  // of all but the slowest dimension
    unsigned int magic[1];  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int shift[1];  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
    int scale_stride[2];
};

// Operands in memory order, 8 elements a thread.
// Launch: ceil(n / 2048) blocks of 256 threads (a divisor of every SM's threads), for n < 2^31 elements.
// At an offset computed for each element: scale.
// Limits: fewer than 2^31 elements, and every offset in bytes below 2^31.
// Alignment, in bytes: 16 for out; 8 for q.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
dequantize_rows_flat_2d(const signed char* q_ptr,
                        const float* scale_ptr,
                        __half* __restrict__ out_ptr,
                        const dequantize_rows_flat_2d_layout layout,
                        const unsigned int n)
{
    const unsigned int i = 8u * (blockIdx.x * 256u + threadIdx.x);  // the first of this thread's 8 elements
    wait_for_earlier_kernels();
    if (i + 8 <= n) {
        const auto q_vec = *reinterpret_cast<const Pack<signed char, 8, 8>*>(q_ptr + i);
        Pack<__half, 8, 16> out_vec;
        const unsigned int q0 = (__umulhi(i, layout.magic[0]) + i) >> layout.shift[0];
        int c0 = (int)(i - q0 * layout.extent[0]);
        int c1 = (int)q0;
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            const int scale_at = c0 * layout.scale_stride[0] + c1 * layout.scale_stride[1];
            dequantize_rows_element(q_vec.at[j], scale_ptr[scale_at], out_vec.at[j]);
            if (++c0 == (int)layout.extent[0]) {
                c0 = 0;
                ++c1;
            }
        }
        *reinterpret_cast<Pack<__half, 8, 16>*>(out_ptr + i) = out_vec;
    } else {
        #pragma unroll 1
        for (unsigned int e = i; e < n; ++e) {
            const unsigned int q0 = (__umulhi(e, layout.magic[0]) + e) >> layout.shift[0];
            const int c0 = (int)(e - q0 * layout.extent[0]);
            const int c1 = (int)q0;
            const int scale_at = c0 * layout.scale_stride[0] + c1 * layout.scale_stride[1];
            dequantize_rows_element(q_ptr[e], scale_ptr[scale_at], out_ptr[e]);
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_dequantize_rows
