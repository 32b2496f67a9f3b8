// Made by kgen 0.1.0 from dequantize.k. Do not edit; remake it with
//     kgen compile dequantize.k -o dequantize_rows.cu --dtype q=i8,scale=f32 --shape 'q=?x?,scale=?x1' --name dequantize_rows
//
//     # Back from int8 with one scale a row: q is (rows, columns), scale is (rows, 1).
//     input q: int8, scale: float
//     out: half = cast<float>(q) * scale
//
// Inputs:  q: int8, scale: float32
// Outputs: out: float16
//
// Chosen: strided: `scale` is not contiguous in the order in which the outputs are walked.
// Chosen: 32-bit indices: every byte offset is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_fp16.h>

// One element: out: half = cast<float>(q) * scale
static __device__ __forceinline__ void
dequantize_rows_element(const signed char q_v, const float scale_v, __half& out_v)
{
    out_v = __float2half_rn((float)q_v * scale_v);
}

// Where the elements lie: 2 dimensions, the fastest first; strides in elements.
struct dequantize_rows_strided2_layout {
    unsigned int extent[1];  // of all but the slowest dimension
    unsigned int magic[1];  // x / extent[d] == (__umulhi(x, magic[d]) + x) >> shift[d]
    unsigned int shift[1];  // for every x < 2^31
    int scale_stride[2];
};

// One element a thread over 2 dimensions: scale at any strides, out and q in memory order.
// Launch: ceil(n / 128) blocks of 128 threads (a divisor of what every SM holds), for n elements.
extern "C" __global__ void __launch_bounds__(128)
dequantize_rows_strided2(const signed char* __restrict__ q_ptr,
                         const float* __restrict__ scale_ptr,
                         __half* __restrict__ out_ptr,
                         const dequantize_rows_strided2_layout layout,
                         const unsigned int n)
{
    const unsigned int i = blockIdx.x * 128u + threadIdx.x;
    if (i >= n) {
        return;
    }
    const unsigned int q0 = (__umulhi(i, layout.magic[0]) + i) >> layout.shift[0];
    const int c0 = (int)(i - q0 * layout.extent[0]);
    const int c1 = (int)q0;
    const int scale_at = c0 * layout.scale_stride[0] + c1 * layout.scale_stride[1];
    dequantize_rows_element(q_ptr[i], scale_ptr[scale_at], out_ptr[i]);
}
