// Made by kgen 0.1.0 from axpy.k. Do not edit; remake it with
//     kgen compile axpy.k -o axpy_reversed.cu --dtype x=f16,y=f16 --shape x=26x5000x8x32,y=26x5000x8x32 --strides y=1x26x130000x1040000 --name axpy_reversed
//
//     # BLAS's axpy: the shortest kernel that is worth having.
//     param a: float = 2.0
//     out = a * x + y
//
// Inputs:  x: float16, y: float16, a: float32 (by value)
// Outputs: out: float32
//
// Chosen: boxes: `y` is consecutive along another dimension, read in that order by boxes of 16 x 256.
// Chosen: 32-bit indices: every byte offset is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_fp16.h>

namespace kgen_axpy_reversed {

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
axpy_reversed_element(const __half x_v, const __half y_v, const float a_v, float& out_v)
{
    out_v = a_v * __half2float(x_v) + __half2float(y_v);
}

// Where the elements lie: 4 dimensions, those of the sides first; strides in elements.
struct axpy_reversed_boxes_16x256_4d_layout {
    int width;  // elements along the fastest dimension
    int height;  // elements along the second side
    unsigned int extent[1];  // of boxes, then of the other dimensions
    unsigned int magic[1];  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int shift[1];  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
    unsigned int width_extent[1];  // of the dimensions along the width
    unsigned int width_magic[1];  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int width_shift[1];  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
    unsigned int height_extent[1];  // of the dimensions along the height
    unsigned int height_magic[1];  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int height_shift[1];  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
    int out_stride[2];  // of out and x
    int y_stride[3];
};

// Boxes of 16 x 256 elements, one a block; y read along another side than the output, by way of shared memory.
// Launch: a block of 256 threads for each box, along the fastest dimension first.
// Limits: fewer than 2^31 elements, and every offset in bytes below 2^31.
// Aligned to groups of 2 elements, which move at once.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
axpy_reversed_boxes_16x256_4d(const __half* x_ptr,
                              const __half* y_ptr,
                              float* __restrict__ out_ptr,
                              const float a_v,
                              const axpy_reversed_boxes_16x256_4d_layout layout)
{
    // Rows are padded, so that neighbouring ones begin in different banks.
    __shared__ __half y_tile[256][18];

    const unsigned int t = blockIdx.x;
    const unsigned int rest0 = (__umulhi(t, layout.magic[0]) + t) >> layout.shift[0];
    const int c0 = (int)(t - rest0 * layout.extent[0]);
    const int c1 = (int)rest0;
    const int p_first = 16 * c0;
    const int q_first = 256 * c1;
    const bool whole = layout.width - p_first >= 16 && layout.height - q_first >= 256;  // all groups are inside
    wait_for_earlier_kernels();
    // All loads are issued before any is waited for, each in the order of its operand.
    Pack<__half, 2, 4> y_in[8];
    {
        const int v = 2 * (threadIdx.x % 128);
        const int u = threadIdx.x / 128;
        const int q = q_first + v;
        const int y_from = q * layout.y_stride[2];
        if (whole) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                const int p = p_first + u + 2 * k;
                const unsigned int p_rest0 = (__umulhi(p, layout.width_magic[0]) + p) >> layout.width_shift[0];
                const int p0 = (int)(p - p_rest0 * layout.width_extent[0]);
                const int p1 = (int)(p_rest0);
                const int y_at = p0 * layout.y_stride[0] + p1 * layout.y_stride[1];
                y_in[k] = *reinterpret_cast<const Pack<__half, 2, 4>*>(y_ptr + (y_from + y_at));
            }
        } else {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                const int p = p_first + u + 2 * k;
                if (p < layout.width && q < layout.height) {
                    const unsigned int p_rest0 = (__umulhi(p, layout.width_magic[0]) + p) >> layout.width_shift[0];
                    const int p0 = (int)(p - p_rest0 * layout.width_extent[0]);
                    const int p1 = (int)(p_rest0);
                    const int y_at = p0 * layout.y_stride[0] + p1 * layout.y_stride[1];
                    y_in[k] = *reinterpret_cast<const Pack<__half, 2, 4>*>(y_ptr + (y_from + y_at));
                }
            }
        }
    }
    Pack<__half, 2, 4> x_in[8];
    {
        const int u = 2 * (threadIdx.x % 8);
        const int v = threadIdx.x / 8;
        const int p = p_first + u;
        const int x_from = p;
        if (whole) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                const int q = q_first + v + 32 * k;
                const unsigned int q_rest0 = (__umulhi(q, layout.height_magic[0]) + q) >> layout.height_shift[0];
                const int q0 = (int)(q - q_rest0 * layout.height_extent[0]);
                const int q1 = (int)(q_rest0);
                const int out_at = q0 * layout.out_stride[0] + q1 * layout.out_stride[1];
                x_in[k] = *reinterpret_cast<const Pack<__half, 2, 4>*>(x_ptr + (x_from + out_at));
            }
        } else {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                const int q = q_first + v + 32 * k;
                if (p < layout.width && q < layout.height) {
                    const unsigned int q_rest0 = (__umulhi(q, layout.height_magic[0]) + q) >> layout.height_shift[0];
                    const int q0 = (int)(q - q_rest0 * layout.height_extent[0]);
                    const int q1 = (int)(q_rest0);
                    const int out_at = q0 * layout.out_stride[0] + q1 * layout.out_stride[1];
                    x_in[k] = *reinterpret_cast<const Pack<__half, 2, 4>*>(x_ptr + (x_from + out_at));
                }
            }
        }
    }
    {
        const int v = 2 * (threadIdx.x % 128);
        const int u = threadIdx.x / 128;
        #pragma unroll
        for (int k = 0; k < 8; ++k) {
            #pragma unroll
            for (int j = 0; j < 2; ++j) {
                y_tile[v + j][u + 2 * k] = y_in[k].at[j];
            }
        }
    }
    __syncthreads();

    {
        const int u = 2 * (threadIdx.x % 8);
        const int v = threadIdx.x / 8;
        const int p = p_first + u;
        const int out_from = p;
        if (whole) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                const int q = q_first + v + 32 * k;
                const unsigned int q_rest0 = (__umulhi(q, layout.height_magic[0]) + q) >> layout.height_shift[0];
                const int q0 = (int)(q - q_rest0 * layout.height_extent[0]);
                const int q1 = (int)(q_rest0);
                const int out_at = q0 * layout.out_stride[0] + q1 * layout.out_stride[1];
                Pack<float, 2, 8> out_vec;
                #pragma unroll
                for (int j = 0; j < 2; ++j) {
                    axpy_reversed_element(x_in[k].at[j], y_tile[v + 32 * k][u + j], a_v, out_vec.at[j]);
                }
                *reinterpret_cast<Pack<float, 2, 8>*>(out_ptr + (out_from + out_at)) = out_vec;
            }
        } else {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                const int q = q_first + v + 32 * k;
                if (p < layout.width && q < layout.height) {
                    const unsigned int q_rest0 = (__umulhi(q, layout.height_magic[0]) + q) >> layout.height_shift[0];
                    const int q0 = (int)(q - q_rest0 * layout.height_extent[0]);
                    const int q1 = (int)(q_rest0);
                    const int out_at = q0 * layout.out_stride[0] + q1 * layout.out_stride[1];
                    Pack<float, 2, 8> out_vec;
                    #pragma unroll
                    for (int j = 0; j < 2; ++j) {
                        axpy_reversed_element(x_in[k].at[j], y_tile[v + 32 * k][u + j], a_v, out_vec.at[j]);
                    }
                    *reinterpret_cast<Pack<float, 2, 8>*>(out_ptr + (out_from + out_at)) = out_vec;
                }
            }
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_axpy_reversed
