// Made by kgen 0.1.0 from normalize.k. Do not edit; remake it with
//     kgen compile normalize.k -o normalize_channels_last.cu --dtype image=u8,mu=f32,sigma=f32 --shape image=8x3x480x640,mu=3,sigma=3 --strides image=921600x1x1920x3 --name normalize_channels_last
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
// Chosen: flat: `mu` and `sigma` are not dense, and found element by element.
// Chosen: 32-bit indices: every byte offset is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_fp16.h>

namespace kgen_normalize_channels_last {

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

// One element.
static __device__ __forceinline__ void
normalize_channels_last_element(const unsigned char image_v,
                                const float mu_v,
                                const float sigma_v,
                                __half& out_v)
{
    // let   scaled = cast<float>(image) / 255
    const float scaled_v = divide_constant((float)image_v, 0.0039215684f, 2.337437e-10f /* 1 / 255.0f */);
    // out: half = (scaled - expand(mu, axis=(1, 2))) / expand(sigma, axis=(1, 2))
    out_v = __float2half_rn((scaled_v - mu_v) / sigma_v);
}

// Where the elements lie: 2 dimensions, the fastest first; strides in elements.
struct normalize_channels_last_flat_2d_layout {
    unsigned int extent[1];  // of all but the slowest dimension
    unsigned int magic[1];  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int shift[1];  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
    int mu_stride[2];  // of mu and sigma
};

// Operands in memory order, 8 elements a thread.
// Launch: ceil(n / 2048) blocks of 256 threads (a divisor of every SM's threads), for n < 2^31 elements.
// At an offset computed for each element: mu and sigma.
// Limits: fewer than 2^31 elements, and every offset in bytes below 2^31.
// Alignment, in bytes: 16 for out; 8 for image.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
normalize_channels_last_flat_2d(const unsigned char* image_ptr,
                                const float* mu_ptr,
                                const float* sigma_ptr,
                                __half* __restrict__ out_ptr,
                                const normalize_channels_last_flat_2d_layout layout,
                                const unsigned int n)
{
    const unsigned int i = 8u * (blockIdx.x * 256u + threadIdx.x);  // the first of this thread's 8 elements
    wait_for_earlier_kernels();
    if (i + 8 <= n) {
        const auto image_vec = *reinterpret_cast<const Pack<unsigned char, 8, 8>*>(image_ptr + i);
        Pack<__half, 8, 16> out_vec;
        const unsigned int q0 = (__umulhi(i, layout.magic[0]) + i) >> layout.shift[0];
        int c0 = (int)(i - q0 * layout.extent[0]);
        int c1 = (int)q0;
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            const int mu_at = c0 * layout.mu_stride[0] + c1 * layout.mu_stride[1];
            normalize_channels_last_element(image_vec.at[j], mu_ptr[mu_at], sigma_ptr[mu_at],
                                            out_vec.at[j]);
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
            const int mu_at = c0 * layout.mu_stride[0] + c1 * layout.mu_stride[1];
            normalize_channels_last_element(image_ptr[e], mu_ptr[mu_at], sigma_ptr[mu_at],
                                            out_ptr[e]);
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_normalize_channels_last
