// Made by kgen 0.1.0 from gelu.k. Do not edit; remake it with
//     kgen compile gelu.k -o gelu_rows.cu --dtype x=f16,bias=f16 --shape 'x=?x?,bias=?' --name gelu_rows
//
//     # GELU with a bias, fused: y = gelu(x + bias).
//     let z = x + bias
//     y = gelu(z)
//
// Inputs:  x: float16, bias: float16
// Outputs: y: float16
//
// Chosen: strided: `bias` is not contiguous in the order in which the outputs are walked.
// Chosen: 32-bit indices: every byte offset is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_fp16.h>

// One element.
static __device__ __forceinline__ void
gelu_rows_element(const __half x_v, const __half bias_v, __half& y_v)
{
    // let z = x + bias
    const float z_v = __half2float(x_v) + __half2float(bias_v);
    // y = gelu(z)
    y_v = __float2half_rn(0.5f * z_v * (1.0f + erff(z_v * 0.70710677f)));
}

// Where the elements lie: 2 dimensions, the fastest first; strides in elements.
struct gelu_rows_strided2_layout {
    unsigned int extent[1];  // of all but the slowest dimension
    unsigned int magic[1];  // x / extent[d] == (__umulhi(x, magic[d]) + x) >> shift[d]
    unsigned int shift[1];  // for every x < 2^31
    int bias_stride[2];
};

// One element a thread over 2 dimensions: bias at any strides, y and x in memory order.
// Launch: ceil(n / 128) blocks of 128 threads (a divisor of what every SM holds), for n elements.
extern "C" __global__ void __launch_bounds__(128)
gelu_rows_strided2(const __half* __restrict__ x_ptr,
                   const __half* __restrict__ bias_ptr,
                   __half* __restrict__ y_ptr,
                   const gelu_rows_strided2_layout layout,
                   const unsigned int n)
{
    const unsigned int i = blockIdx.x * 128u + threadIdx.x;
    if (i >= n) {
        return;
    }
    const unsigned int q0 = (__umulhi(i, layout.magic[0]) + i) >> layout.shift[0];
    const int c0 = (int)(i - q0 * layout.extent[0]);
    const int c1 = (int)q0;
    const int bias_at = c0 * layout.bias_stride[0] + c1 * layout.bias_stride[1];
    gelu_rows_element(x_ptr[i], bias_ptr[bias_at], y_ptr[i]);
}
