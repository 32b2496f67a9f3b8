// Made by kgen 0.1.0 from rotate.k. Do not edit; remake it with
//     kgen compile rotate.k -o rotate_batch.cu --dtype z=c64,theta=f32 --shape 'z=?x?x?,theta=?x?' --name rotate_batch
//
//     # Rotary position embedding on pairs seen as complex numbers: z is (batch, position, pair), theta is (position, pair).
//     out = z * complex(cos(theta), sin(theta))
//
// Inputs:  z: complex64, theta: float32
// Outputs: out: complex64
//
// Chosen: strided: `theta` is not contiguous in the order in which the outputs are walked.
// Chosen: 64-bit indices: not every byte offset is below 2^31.
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
struct rotate_batch_strided2_64bit_layout {
    long long extent[1];  // of all but the slowest dimension
    long long theta_stride[2];
};

// Any strides over 2 dimensions, one element a thread.  Indices are 64-bit.
// Launch: ceil(n / 128) blocks of 128 threads (a divisor of what every SM holds), for n elements.
extern "C" __global__ void __launch_bounds__(128)
rotate_batch_strided2_64bit(const float2* __restrict__ z_ptr,
                            const float* __restrict__ theta_ptr,
                            float2* __restrict__ out_ptr,
                            const rotate_batch_strided2_64bit_layout layout,
                            const long long n)
{
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i >= n) {
        return;
    }
    const long long q0 = i / layout.extent[0];
    const long long c0 = i - q0 * layout.extent[0];
    const long long c1 = q0;
    const long long theta_at = c0 * layout.theta_stride[0] + c1 * layout.theta_stride[1];
    rotate_batch_element(z_ptr[i], theta_ptr[theta_at], out_ptr[i]);
}
