// Made by kgen 0.1.0 from normalize.k. Do not edit; remake it with
//     kgen compile normalize.k -o normalize_nchw.cu --dtype image=u8,mu=f32,sigma=f32 --shape image=32x3x224x224,mu=3,sigma=3 --name normalize_nchw
//
//     # Prepares an image of bytes for a network: scales it to 0..1, normalises each channel, and writes float16.
//     # image is (batch, channel, y, x), in any memory layout; mu and sigma have one value a channel.
//     input image: u8, mu: float, sigma: float
//     let   scaled = cast<float>(image) / 255
//     out: half = (scaled - expand(mu, axis=(1, 2))) / expand(sigma, axis=(1, 2))
//
// Inputs:  image: uint8, mu: float32, sigma: float32
// Outputs: out: float16
//
// Chosen: rows: `mu` and `sigma` are not dense in the order in which the outputs are walked.
// Chosen: 32-bit indices: every byte offset is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_fp16.h>

namespace kgen_normalize_nchw {

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

// a / c, rounded to nearest, where high + low is 1 / c to 46 bits and c has at most 20 significant bits: no quotient is
// within 2^-45 of a tie.  a is an integer, or has fewer exponent bits than a float, so that low * a is no subnormal.
static __device__ __forceinline__ float divide_constant(float a, float high, float low)
{
    return fmaf(a, high, a * low);
}

// Whether nothing is lost to underflow or overflow where this is used.
static __device__ __forceinline__ bool is_moderate(float x)
{
    return x == 0 || (fabsf(x) >= 0x1p-24f && fabsf(x) < 0x1p24f);
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

// a / b, rounded to nearest (P. Markstein, 1990), where b is moderate and not 0, and a is neither -0 nor tiny nor huge.
template <bool UseReciprocal>
static __device__ __forceinline__ float divide_moderate(float a, float b)
{
    if (!UseReciprocal) {
        return a / b;
    }
    const float near = reciprocal_approx(b), r = fmaf(near, -fmaf(near, b, -1.0f), near);
    const float q = a * r;
    return fmaf(fmaf(-q, b, a), r, q);
}

// One element.
template <bool UseReciprocal>
static __device__ __forceinline__ void
normalize_nchw_element(const unsigned char image_v,
                       const float mu_v,
                       const float sigma_v,
                       __half& out_v)
{
    // let   scaled = cast<float>(image) / 255
    const float scaled_v = divide_constant((float)image_v, 0.0039215684f, 2.337437e-10f /* 1 / 255.0f */);
    // out: half = (scaled - expand(mu, axis=(1, 2))) / expand(sigma, axis=(1, 2))
    out_v = __float2half_rn(divide_moderate<UseReciprocal>(scaled_v - mu_v, sigma_v));
}

// Where the elements lie: 3 dimensions, the fastest first; strides in elements.
struct normalize_nchw_rows_3d_layout {
    int width;  // elements along the fastest dimension
    unsigned int extent[2];  // of groups in a row, then of the other dimensions
    unsigned int magic[2];  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int shift[2];  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
    int out_stride[2];  // of out and image
    int mu_stride[2];  // of mu and sigma
};

// Rows, 8 elements of a row a thread.
// Launch: ceil(n / 256) blocks of 256 threads (a divisor of every SM's threads), for n groups.
// Limits: fewer than 2^31 elements, and every offset in bytes below 2^31.
// Alignment, in bytes: 16 for out; 8 for image.
// One element a row: mu and sigma.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
normalize_nchw_rows_3d(const unsigned char* image_ptr,
                       const float* mu_ptr,
                       const float* sigma_ptr,
                       __half* __restrict__ out_ptr,
                       const normalize_nchw_rows_3d_layout layout,
                       const unsigned int n)
{
    const unsigned int t = blockIdx.x * 256u + threadIdx.x;
    if (t >= n) {
        return;
    }
    const unsigned int q0 = (__umulhi(t, layout.magic[0]) + t) >> layout.shift[0];
    const int c0 = (int)(t - q0 * layout.extent[0]);
    const unsigned int q1 = (__umulhi(q0, layout.magic[1]) + q0) >> layout.shift[1];
    const int c1 = (int)(q0 - q1 * layout.extent[1]);
    const int c2 = (int)q1;
    const int out_at = c1 * layout.out_stride[0] + c2 * layout.out_stride[1];
    const int mu_at = c1 * layout.mu_stride[0] + c2 * layout.mu_stride[1];
    const int i = 8 * c0;  // the first of this thread's 8 elements of the row
    wait_for_earlier_kernels();
    if (layout.width - i >= 8) {
        const auto image_vec = *reinterpret_cast<const Pack<unsigned char, 8, 8>*>(image_ptr + out_at + i);
        const float mu_v = mu_ptr[mu_at];
        const float sigma_v = sigma_ptr[mu_at];
        Pack<__half, 8, 16> out_vec;
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            normalize_nchw_element<true>(image_vec.at[j], mu_v, sigma_v, out_vec.at[j]);
        }
        // Otherwise the elements are divided one by one.
        if (is_moderate(mu_v) &&
            is_moderate(sigma_v) &&
            sigma_v != 0) {
            *reinterpret_cast<Pack<__half, 8, 16>*>(out_ptr + out_at + i) = out_vec;
            return;
        }
    }
    {
        const float mu_v = mu_ptr[mu_at];
        const float sigma_v = sigma_ptr[mu_at];
        #pragma unroll 1
        for (int e = i; e < i + 8 && e < layout.width; ++e) {
            normalize_nchw_element<false>(image_ptr[out_at + e], mu_v, sigma_v,
                                          out_ptr[out_at + e]);
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_normalize_nchw
