// Made by kgen 0.1.0 from gelu.k. Do not edit; remake it with
//     kgen compile gelu.k -o gelu_rows.cu --dtype x=f16,bias=f16 --shape x=4096x3072,bias=3072 --name gelu_rows
//
//     # GELU with a bias, fused: y = gelu(x + bias).
//     let z = x + bias
//     y = gelu(z)
//
// Inputs:  x: float16, bias: float16
// Outputs: y: float16
//
// Chosen: rows: `bias` is not dense in the order in which the outputs are walked.
// Chosen: 32-bit indices: every byte offset is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_fp16.h>

namespace kgen_gelu_rows {

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

// 1 / b within 1 ulp, without checks; 0 where that is less than 2^-126.
static __device__ __forceinline__ float reciprocal_approx(float b)
{
#if defined(__CUDA_ARCH__)
    float result;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(b));
    return result;
#else
    return 1.0f / b;
#endif
}

// The standard normal distribution function.  The tail below -t is exp(-t * t / 2), corrected for the rounding of the
// square, times a polynomial in u = t / (t + 16 / 7).
static __device__ __forceinline__ float normal_cdf(float x)
{
    const float t = fabsf(x) > 15.0f ? 15.0f : fabsf(x);
    const float d = fmaf(0.4375f, t, 1.0f);
    const float v = reciprocal_approx(d);
    const float u = 0.4375f * t * v;
    float p = -0.0379580781f;
    p = fmaf(p, u, 0.139328584f);
    p = fmaf(p, u, -0.184268996f);
    p = fmaf(p, u, 0.126904964f);
    p = fmaf(p, u, -0.0863507986f);
    p = fmaf(p, u, 0.0116685089f);
    p = fmaf(p, u, 0.0395830348f);
    p = fmaf(p, u, 0.095130153f);
    p = fmaf(p, u, -0.0176346935f);
    p = fmaf(p, u, -0.411867619f);
    p = fmaf(p, u, 0.5f);
    const float square = t * t;
    const float e = expf(-0.5f * square);
    const float tail = fmaf(e, -0.5f * fmaf(t, t, -square), e) * v * p;
    return x < 0.0f ? tail : 1.0f - tail;
}

// One element.
static __device__ __forceinline__ void
gelu_rows_element(const __half x_v, const __half bias_v, __half& y_v)
{
    // let z = x + bias
    const float z_v = __half2float(x_v) + __half2float(bias_v);
    // y = gelu(z)
    y_v = __float2half_rn(z_v * normal_cdf(z_v));
}

// Where the elements lie: 2 dimensions, the fastest first; strides in elements.
struct gelu_rows_rows_2d_layout {
    int width;  // elements along the fastest dimension
    unsigned int extent[1];  // of groups in a row, then of the other dimensions
    unsigned int magic[1];  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int shift[1];  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
    int y_stride[1];  // of y and x
};

// Rows, 8 elements of a row a thread.
// Launch: ceil(n / 256) blocks of 256 threads (a divisor of every SM's threads), for n groups.
// Limits: fewer than 2^31 elements, and every offset in bytes below 2^31.
// Alignment, in bytes: 16 for y, x and bias.
// No other operand may overlap y in memory.
extern "C" __global__ void __launch_bounds__(256)
gelu_rows_rows_2d(const __half* x_ptr,
                  const __half* bias_ptr,
                  __half* __restrict__ y_ptr,
                  const gelu_rows_rows_2d_layout layout,
                  const unsigned int n)
{
    const unsigned int t = blockIdx.x * 256u + threadIdx.x;
    if (t >= n) {
        return;
    }
    const unsigned int q0 = (__umulhi(t, layout.magic[0]) + t) >> layout.shift[0];
    const int c0 = (int)(t - q0 * layout.extent[0]);
    const int c1 = (int)q0;
    const int y_at = c1 * layout.y_stride[0];
    const int i = 8 * c0;  // the first of this thread's 8 elements of the row
    wait_for_earlier_kernels();
    if (layout.width - i >= 8) {
        const auto x_vec = *reinterpret_cast<const Pack<__half, 8, 16>*>(x_ptr + y_at + i);
        const auto bias_vec = *reinterpret_cast<const Pack<__half, 8, 16>*>(bias_ptr + i);
        Pack<__half, 8, 16> y_vec;
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            gelu_rows_element(x_vec.at[j], bias_vec.at[j], y_vec.at[j]);
        }
        *reinterpret_cast<Pack<__half, 8, 16>*>(y_ptr + y_at + i) = y_vec;
    } else {
        #pragma unroll 1
        for (int e = i; e < layout.width; ++e) {
            gelu_rows_element(x_ptr[y_at + e], bias_ptr[e], y_ptr[y_at + e]);
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_gelu_rows
