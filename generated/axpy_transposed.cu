// Made by kgen 0.1.0 from axpy.k. Do not edit; remake it with
//     kgen compile axpy.k -o axpy_transposed.cu --dtype x=f32,y=f32 --shape x=4096x1024,y=4096x1024 --strides x=1x4096 --name axpy_transposed
//
//     # BLAS's axpy: the shortest kernel that is worth having.
//     param a: float = 2.0
//     out = a * x + y
//
// Inputs:  x: float32, y: float32, a: float32 (by value)
// Outputs: out: float32
//
// Chosen: strided: `y` is not contiguous in the order in which the outputs are walked.
// Chosen: 32-bit indices: every byte offset is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

// One element: out = a * x + y
static __device__ __forceinline__ void
axpy_transposed_element(const float x_v, const float y_v, const float a_v, float& out_v)
{
    out_v = a_v * x_v + y_v;
}

// Where the elements lie: 2 dimensions, the fastest first; strides in elements.
struct axpy_transposed_strided2_layout {
    unsigned int extent[1];  // of all but the slowest dimension
    unsigned int magic[1];  // x / extent[d] == (__umulhi(x, magic[d]) + x) >> shift[d]
    unsigned int shift[1];  // for every x < 2^31
    int y_stride[2];
};

// One element a thread over 2 dimensions: y at any strides, out and x in memory order.
// Launch: ceil(n / 128) blocks of 128 threads (a divisor of what every SM holds), for n elements.
extern "C" __global__ void __launch_bounds__(128)
axpy_transposed_strided2(const float* __restrict__ x_ptr,
                         const float* __restrict__ y_ptr,
                         float* __restrict__ out_ptr,
                         const float a_v,
                         const axpy_transposed_strided2_layout layout,
                         const unsigned int n)
{
    const unsigned int i = blockIdx.x * 128u + threadIdx.x;
    if (i >= n) {
        return;
    }
    const unsigned int q0 = (__umulhi(i, layout.magic[0]) + i) >> layout.shift[0];
    const int c0 = (int)(i - q0 * layout.extent[0]);
    const int c1 = (int)q0;
    const int y_at = c0 * layout.y_stride[0] + c1 * layout.y_stride[1];
    axpy_transposed_element(x_ptr[i], y_ptr[y_at], a_v, out_ptr[i]);
}
