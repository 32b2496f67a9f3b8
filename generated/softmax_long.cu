// Made by kgen 0.1.0 from softmax.k. Do not edit; remake it with
//     kgen compile softmax.k -o softmax_long.cu --dtype x=bf16 --shape 'x=?x?' --name softmax_long
//
//     # Softmax over the last axis: three lines, one kernel.
//     let m = max(x, axis=-1, keepdims=true)
//     let e = exp(x - m)
//     y = e / sum(e, axis=-1, keepdims=true)
//
// Inputs:  x: bfloat16
// Outputs: y: bfloat16
//
// Chosen: rows: 512 threads share a row, too long for their registers: read again for each round of reductions.
// Chosen: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_bf16.h>

// The greater of a and b; a NaN wins, and -0.0 is below +0.0.
static __device__ __forceinline__ float nan_max(float a, float b)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    float result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
#else
    if (a == b) return __int_as_float(__float_as_int(a) & __float_as_int(b));
    return a > b || a != a ? a : b;
#endif
}

// 1 / b for divide(); NaN where b is so small or large that a quotient might lose bits on the way.
static __device__ __forceinline__ float inverse(float b)
{
    return fabsf(b) > 1e-10f && fabsf(b) < 1e12f ? 1.0f / b : __int_as_float(0x7fffffff);
}

// a / b, rounded to nearest as ever, where r = inverse(b) (P. Markstein, 1990): one division serves a whole row.
static __device__ __forceinline__ float divide(float a, float b, float r)
{
    const float q = a * r;
    if (fabsf(q) > 1e-20f && fabsf(q) < 1e36f) {
        return fmaf(fmaf(-q, b, a), r, q);
    }
    return a == 0 && r == r ? q : a / b;
}

// A sum that also keeps what rounding took away from it.
template <typename T>
struct Sum {
    T sum, rest;
};

template <typename T>
static __device__ __forceinline__ void add(Sum<T>& s, T x)
{
    const T sum = s.sum + x, gained = sum - s.sum;
    s.rest += (s.sum - (sum - gained)) + (x - gained);
    s.sum = sum;
}

template <typename T>
static __device__ __forceinline__ T total(const Sum<T>& s)
{
    return isfinite(s.sum) ? s.sum + s.rest : s.sum;
}

// Takes one element into m.
static __device__ __forceinline__ void
softmax_long_pass1(const __nv_bfloat16 x_v, float& m_acc)
{
    // let m = max(x, axis=-1, keepdims=true)
    m_acc = nan_max(m_acc, __bfloat162float(x_v));
}

// Takes one element into sum.
static __device__ __forceinline__ void
softmax_long_pass2(const __nv_bfloat16 x_v, const float m_v, float& sum_acc)
{
    // y = e / sum(e, axis=-1, keepdims=true)
    sum_acc += expf(__bfloat162float(x_v) - m_v);
}

// One element of y.
static __device__ __forceinline__ void
softmax_long_element(const __nv_bfloat16 x_v,
                     const float m_v,
                     const float sum_v,
                     const float sum_inverse,
                     __nv_bfloat16& y_v)
{
    // let e = exp(x - m)
    const float e_v = expf(__bfloat162float(x_v) - m_v);
    // y = e / sum(e, axis=-1, keepdims=true)
    y_v = __float2bfloat16_rn(divide(e_v, sum_v, sum_inverse));
}

// Where the rows lie; strides and steps in elements.
struct softmax_long_rows_long_layout {
    long long y_stride[1];  // of y and x
    int width;  // elements of a row
};

// Rows of any length, read again for each round of reductions: 512 threads a row.
// Launch: a block of 512 threads for each row.
// Limits: fewer than 2^31 rows, and every place within a row, in bytes, below 2^31.
// No other operand may overlap y in memory.
extern "C" __global__ void __launch_bounds__(512)
softmax_long_rows_long(const __nv_bfloat16* __restrict__ x_ptr,
                       __nv_bfloat16* __restrict__ y_ptr,
                       const softmax_long_rows_long_layout layout)
{
    const int lane = threadIdx.x;
    const unsigned int row = blockIdx.x;
    __nv_bfloat16* const y_row = y_ptr + row * layout.y_stride[0];
    const __nv_bfloat16* const x_row = x_ptr + row * layout.y_stride[0];

    __shared__ float m_of_warps[16];
    float m_acc = __int_as_float(0xff800000 /* -inf */);
    #pragma unroll 4
    for (int i = lane; i < layout.width; i += 512) {
        const __nv_bfloat16 x_in = x_row[i];
        softmax_long_pass1(x_in, m_acc);
    }
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        m_acc = nan_max(m_acc, __shfl_xor_sync(0xffffffffu, m_acc, d));
    }
    if (threadIdx.x % 32 == 0) {
        m_of_warps[threadIdx.x / 32] = m_acc;
    }
    __syncthreads();
    m_acc = m_of_warps[threadIdx.x % 16];
    #pragma unroll
    for (int d = 8; d > 0; d /= 2) {
        m_acc = nan_max(m_acc, __shfl_xor_sync(0xffffffffu, m_acc, d));
    }
    const float m_v = m_acc;

    __shared__ float sum_of_warps[16];
    Sum<float> sum_sum = {};
    #pragma unroll 4
    for (int i = lane; i < layout.width; i += 512) {
        const __nv_bfloat16 x_in = x_row[i];
        float sum_part = 0.0f;
        softmax_long_pass2(x_in, m_v, sum_part);
        add(sum_sum, sum_part);
    }
    float sum_acc = total(sum_sum);
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        sum_acc += __shfl_xor_sync(0xffffffffu, sum_acc, d);
    }
    if (threadIdx.x % 32 == 0) {
        sum_of_warps[threadIdx.x / 32] = sum_acc;
    }
    __syncthreads();
    sum_acc = sum_of_warps[threadIdx.x % 16];
    #pragma unroll
    for (int d = 8; d > 0; d /= 2) {
        sum_acc += __shfl_xor_sync(0xffffffffu, sum_acc, d);
    }
    const float sum_v = sum_acc;
    const float sum_inverse = inverse(sum_v);

    #pragma unroll 4
    for (int i = lane; i < layout.width; i += 512) {
        const __nv_bfloat16 x_in = x_row[i];
        softmax_long_element(x_in, m_v, sum_v, sum_inverse, y_row[i]);
    }
}
