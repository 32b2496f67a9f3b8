// Made by kgen 0.1.0 from rotate.k. Do not edit; remake it with
//     kgen compile rotate.k -o rotate_batch.cu --dtype z=c64,theta=f32 --shape z=8x2048x64,theta=2048x64 --name rotate_batch
//
//     # Rotary position embedding on pairs seen as complex numbers: z is (batch, position, pair), theta is (position, pair).
//     out = z * complex(cos(theta), sin(theta))
//
// Inputs:  z: complex64, theta: float32
// Outputs: out: complex64
//
// Chosen: strided: `theta` is not contiguous in the order in which the outputs are walked.
// Chosen: 32-bit indices: every byte offset is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

// One element: out = z * complex(cos(theta), sin(theta))
static __device__ __forceinline__ void
rotate_batch_element(const float2 z_v, const float theta_v, float2& out_v)
{
    const float t = cosf(theta_v);
    const float t2 = sinf(theta_v);
    out_v = make_float2(z_v.x * t - z_v.y * t2, z_v.x * t2 + z_v.y * t);
}

// Where the elements lie: 2 dimensions, the fastest first; strides in elements.
struct rotate_batch_strided2_layout {
    unsigned int extent[1];  // of all but the slowest dimension
    unsigned int magic[1];  // x / extent[d] == (__umulhi(x, magic[d]) + x) >> shift[d]
    unsigned int shift[1];  // for every x < 2^31
    int theta_stride[2];
};

// One element a thread over 2 dimensions: theta at any strides, out and z in memory order.
// Launch: ceil(n / 128) blocks of 128 threads (a divisor of what every SM holds), for n elements.
extern "C" __global__ void __launch_bounds__(128)
rotate_batch_strided2(const float2* __restrict__ z_ptr,
                      const float* __restrict__ theta_ptr,
                      float2* __restrict__ out_ptr,
                      const rotate_batch_strided2_layout layout,
                      const unsigned int n)
{
    const unsigned int i = blockIdx.x * 128u + threadIdx.x;
    if (i >= n) {
        return;
    }
    const unsigned int q0 = (__umulhi(i, layout.magic[0]) + i) >> layout.shift[0];
    const int c0 = (int)(i - q0 * layout.extent[0]);
    const int c1 = (int)q0;
    const int theta_at = c0 * layout.theta_stride[0] + c1 * layout.theta_stride[1];
    rotate_batch_element(z_ptr[i], theta_ptr[theta_at], out_ptr[i]);
}
