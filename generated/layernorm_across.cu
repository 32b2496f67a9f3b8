// Made by kgen 0.1.0 from layernorm.k. Do not edit; remake it with
//     kgen compile layernorm.k -o layernorm_across.cu --dtype x=bf16,weight=bf16,bias=bf16 --shape x=256x3136x96,weight=96,bias=96 --strides x=301056x1x3136 --name layernorm_across
//
//     # Layer normalisation over the last axis.
//     input x, weight, bias
//     param eps = 1e-5
//     let d = x - mean(x, axis=-1, keepdims=true)
//     y = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + eps) * weight + bias
//
// Inputs:  x: bfloat16, weight: bfloat16, bias: bfloat16, eps: float32 (by value)
// Outputs: y: bfloat16
//
// Chosen: rows: 4 threads share a row of 96 elements and keep it in registers, 24 elements each: one pass over memory.
// Chosen: across: rows lie side by side in memory, and so do the threads that work on them.
// Chosen: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_bf16.h>

// Takes one element into mean.
static __device__ __forceinline__ void
layernorm_across_pass1(const __nv_bfloat16 x_v, float& mean_acc)
{
    // let d = x - mean(x, axis=-1, keepdims=true)
    mean_acc += __bfloat162float(x_v);
}

// Takes one element into mean.
static __device__ __forceinline__ void
layernorm_across_pass2(const __nv_bfloat16 x_v, const float mean_v, float& mean_acc2)
{
    // let d = x - mean(x, axis=-1, keepdims=true)
    const float d_v = __bfloat162float(x_v) - mean_v;
    // y = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + eps) * weight + bias
    mean_acc2 += d_v * d_v;
}

// One element of y.
static __device__ __forceinline__ void
layernorm_across_element(const __nv_bfloat16 x_v,
                         const __nv_bfloat16 weight_v,
                         const __nv_bfloat16 bias_v,
                         const float mean_v,
                         const float t2,
                         __nv_bfloat16& y_v)
{
    // let d = x - mean(x, axis=-1, keepdims=true)
    const float d_v = __bfloat162float(x_v) - mean_v;
    // y = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + eps) * weight + bias
    const float t = d_v * t2 * __bfloat162float(weight_v) + __bfloat162float(bias_v);
    y_v = __float2bfloat16_rn(t);
}

// Where the rows lie; strides and steps in elements.
struct layernorm_across_rows_held96_across_layout {
    long long y_stride[2];  // of y and x
    int width;  // elements of a row
    int y_step[1];  // along a row
    int x_step[1];  // along a row
    unsigned int extent[1];  // of rows
    unsigned int magic[1];  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int shift[1];  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
};

// Rows of up to 96 elements, kept in registers: 32 neighbouring rows a block, 4 threads a row.
// Launch: ceil(n / 32) blocks of 128 threads, for n rows.
// Limits: fewer than 2^31 rows, and every place within a row, in bytes, below 2^31.
// No other operand may overlap y in memory.
extern "C" __global__ void __launch_bounds__(128)
layernorm_across_rows_held96_across(const __nv_bfloat16* __restrict__ x_ptr,
                                    const __nv_bfloat16* __restrict__ weight_ptr,
                                    const __nv_bfloat16* __restrict__ bias_ptr,
                                    __nv_bfloat16* __restrict__ y_ptr,
                                    const float eps_v,
                                    const layernorm_across_rows_held96_across_layout layout,
                                    const unsigned int n)
{
    const int lane = threadIdx.x / 32;  // of those that share a row
    const bool live = blockIdx.x * 32u + threadIdx.x % 32 < n;  // the last block may have fewer rows
    const unsigned int row = live ? blockIdx.x * 32u + threadIdx.x % 32 : 0;
    const int width = live ? layout.width : 0;
    const unsigned int q0 = (__umulhi(row, layout.magic[0]) + row) >> layout.shift[0];
    const int c0 = (int)(row - q0 * layout.extent[0]);
    const int c1 = (int)q0;
    __nv_bfloat16* const y_row = y_ptr + c0 * layout.y_stride[0] + c1 * layout.y_stride[1];
    const __nv_bfloat16* const x_row = x_ptr + c0 * layout.y_stride[0] + c1 * layout.y_stride[1];

    __nv_bfloat16 x_in[24];
    #pragma unroll
    for (int v = 0; v < 24; ++v) {
        const int i = v * 4 + lane;
        if (i < width) {
            x_in[v] = x_row[i * layout.x_step[0]];
        }
    }

    __shared__ float mean_of_threads[128];
    float mean_acc = 0.0f;
    #pragma unroll
    for (int v = 0; v < 24; ++v) {
        const int i = v * 4 + lane;
        if (i < width) {
            float mean_part = 0.0f;
            layernorm_across_pass1(x_in[v], mean_part);
            mean_acc += mean_part;
        }
    }
    mean_of_threads[threadIdx.x] = mean_acc;
    #pragma unroll
    for (int d = 64; d >= 32; d /= 2) {
        __syncthreads();
        if (threadIdx.x < d) {
            mean_acc += mean_of_threads[threadIdx.x + d];
            mean_of_threads[threadIdx.x] = mean_acc;
        }
    }
    __syncthreads();
    mean_acc = mean_of_threads[threadIdx.x % 32];
    const float mean_v = mean_acc / (float)layout.width;

    __shared__ float mean_acc2_of_threads[128];
    float mean_acc2 = 0.0f;
    #pragma unroll
    for (int v = 0; v < 24; ++v) {
        const int i = v * 4 + lane;
        if (i < width) {
            float mean_acc2_part = 0.0f;
            layernorm_across_pass2(x_in[v], mean_v, mean_acc2_part);
            mean_acc2 += mean_acc2_part;
        }
    }
    mean_acc2_of_threads[threadIdx.x] = mean_acc2;
    #pragma unroll
    for (int d = 64; d >= 32; d /= 2) {
        __syncthreads();
        if (threadIdx.x < d) {
            mean_acc2 += mean_acc2_of_threads[threadIdx.x + d];
            mean_acc2_of_threads[threadIdx.x] = mean_acc2;
        }
    }
    __syncthreads();
    mean_acc2 = mean_acc2_of_threads[threadIdx.x % 32];
    const float mean_v2 = mean_acc2 / (float)layout.width;
    // y = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + eps) * weight + bias
    const float t = mean_v2 + eps_v;
    const float t2 = rsqrtf(t);

    #pragma unroll
    for (int v = 0; v < 24; ++v) {
        const int i = v * 4 + lane;
        if (i < width) {
            const __nv_bfloat16 weight_in = weight_ptr[i];
            const __nv_bfloat16 bias_in = bias_ptr[i];
            layernorm_across_element(x_in[v], weight_in, bias_in, mean_v, t2,
                                     y_row[i * layout.y_step[0]]);
        }
    }
}
