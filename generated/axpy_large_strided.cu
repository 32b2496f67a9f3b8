// Made by kgen 0.1.0 from axpy.k. Do not edit; remake it with
//     kgen compile axpy.k -o axpy_large_strided.cu --dtype x=f32,y=f32 --shape x=70000x70000,y=70000x70000 --strides x=1x70000 --name axpy_large_strided
//
//     # BLAS's axpy: the shortest kernel that is worth having.
//     param a: float = 2.0
//     out = a * x + y
//
// Inputs:  x: float32, y: float32, a: float32 (by value)
// Outputs: out: float32
//
// Chosen: strided: `y` is not contiguous in the order in which the outputs are walked.
// Chosen: 64-bit indices: not every byte offset is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

// One element: out = a * x + y
static __device__ __forceinline__ void
axpy_large_strided_element(const float x_v, const float y_v, const float a_v, float& out_v)
{
    out_v = a_v * x_v + y_v;
}

// Where the elements lie: 2 dimensions, the fastest first; strides in elements.
struct axpy_large_strided_strided2_64bit_layout {
    long long extent[1];  // of all but the slowest dimension
    long long y_stride[2];
};

// One element a thread over 2 dimensions: y at any strides, out and x in memory order.  Indices are 64-bit.
// Launch: ceil(n / 128) blocks of 128 threads (a divisor of what every SM holds), for n elements.
extern "C" __global__ void __launch_bounds__(128)
axpy_large_strided_strided2_64bit(const float* __restrict__ x_ptr,
                                  const float* __restrict__ y_ptr,
                                  float* __restrict__ out_ptr,
                                  const float a_v,
                                  const axpy_large_strided_strided2_64bit_layout layout,
                                  const long long n)
{
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i >= n) {
        return;
    }
    const long long q0 = i / layout.extent[0];
    const long long c0 = i - q0 * layout.extent[0];
    const long long c1 = q0;
    const long long y_at = c0 * layout.y_stride[0] + c1 * layout.y_stride[1];
    axpy_large_strided_element(x_ptr[i], y_ptr[y_at], a_v, out_ptr[i]);
}
