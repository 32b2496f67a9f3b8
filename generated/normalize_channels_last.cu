// Made by kgen 0.1.0 from normalize.k. Do not edit; remake it with
//     kgen compile normalize.k -o normalize_channels_last.cu --dtype image=u8,mu=f32,sigma=f32 --shape image=8x3x480x640,mu=3,sigma=3 --strides image=921600x1x1920x3 --name normalize_channels_last
//
//     # An image of bytes to what a network wants: scaled to 0..1, each channel normalised, as float16.
//     # image is (batch, channel, y, x), in any memory layout; mu and sigma have one value a channel.
//     input image: u8, mu: float, sigma: float
//     let   scaled = cast<float>(image) / 255
//     out: half = (scaled - expand(mu, axis=(1, 2))) / expand(sigma, axis=(1, 2))
//
// Inputs:  image: uint8, mu: float32, sigma: float32
// Outputs: out: float16
//
// Chosen: strided: `mu` and `sigma` are not dense, and rows have only 3 elements.
// Chosen: 32-bit indices: every byte offset is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_fp16.h>

// One element.
static __device__ __forceinline__ void
normalize_channels_last_element(const unsigned char image_v,
                                const float mu_v,
                                const float sigma_v,
                                __half& out_v)
{
    // let   scaled = cast<float>(image) / 255
    const float scaled_v = (float)image_v / 255.0f;
    // out: half = (scaled - expand(mu, axis=(1, 2))) / expand(sigma, axis=(1, 2))
    out_v = __float2half_rn((scaled_v - mu_v) / sigma_v);
}

// Where the elements lie: 2 dimensions, the fastest first; strides in elements.
struct normalize_channels_last_strided2_layout {
    unsigned int extent[1];  // of all but the slowest dimension
    unsigned int magic[1];  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int shift[1];  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
    int mu_stride[2];  // of mu and sigma
};

// One element a thread over 2 dimensions: mu and sigma at any strides, out and image in memory order.
// Launch: ceil(n / 128) blocks of 128 threads (a divisor of what every SM holds), for n < 2^31 elements.
// Limits: fewer than 2^31 elements, and every offset in bytes below 2^31.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(128)
normalize_channels_last_strided2(const unsigned char* __restrict__ image_ptr,
                                 const float* __restrict__ mu_ptr,
                                 const float* __restrict__ sigma_ptr,
                                 __half* __restrict__ out_ptr,
                                 const normalize_channels_last_strided2_layout layout,
                                 const unsigned int n)
{
    const unsigned int i = blockIdx.x * 128u + threadIdx.x;
    if (i >= n) {
        return;
    }
    const unsigned int q0 = (__umulhi(i, layout.magic[0]) + i) >> layout.shift[0];
    const int c0 = (int)(i - q0 * layout.extent[0]);
    const int c1 = (int)q0;
    const int mu_at = c0 * layout.mu_stride[0] + c1 * layout.mu_stride[1];
    normalize_channels_last_element(image_ptr[i], mu_ptr[mu_at], sigma_ptr[mu_at],
                                    out_ptr[i]);
}
