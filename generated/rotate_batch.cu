// Made by kgen 0.1.0 from rotate.k. Do not edit; remake it with
//     kgen compile rotate.k -o rotate_batch.cu --dtype z=c64,theta=f32 --shape z=8x2048x64,theta=2048x64 --name rotate_batch
//
//     # Rotary position embedding on pairs seen as complex numbers: z is (batch, position, pair), theta is (position, pair).
//     out = z * complex(cos(theta), sin(theta))
//
// Inputs:  z: complex64, theta: float32
// Outputs: out: complex64
//
// Chosen: rows: `theta` is not dense in the order in which the outputs are walked.
// Chosen: 32-bit indices: every byte offset is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

namespace kgen_rotate_batch {

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

// One element: out = z * complex(cos(theta), sin(theta))
static __device__ __forceinline__ void
rotate_batch_element(const float2 z_v, const float theta_v, float2& out_v)
{
    const float t = cosf(theta_v);
    const float t2 = sinf(theta_v);
    out_v = make_float2(z_v.x * t - z_v.y * t2, z_v.x * t2 + z_v.y * t);
}

// Where the elements lie: 2 dimensions, the fastest first; strides in elements.
struct rotate_batch_rows_2d_layout {
    int width;  // elements along the fastest dimension
    unsigned int extent[1];  // of groups in a row, then of the other dimensions
    unsigned int magic[1];  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int shift[1];  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
    int out_stride[1];  // of out and z
};

// Rows, 2 elements of a row a thread.
// Launch: ceil(n / 256) blocks of 256 threads (a divisor of every SM's threads), for n groups.
// Limits: fewer than 2^31 elements, and every offset in bytes below 2^31.
// Alignment, in bytes: 16 for out and z; 8 for theta.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
rotate_batch_rows_2d(const float2* z_ptr,
                     const float* theta_ptr,
                     float2* __restrict__ out_ptr,
                     const rotate_batch_rows_2d_layout layout,
                     const unsigned int n)
{
    const unsigned int t = blockIdx.x * 256u + threadIdx.x;
    if (t >= n) {
        return;
    }
    const unsigned int q0 = (__umulhi(t, layout.magic[0]) + t) >> layout.shift[0];
    const int c0 = (int)(t - q0 * layout.extent[0]);
    const int c1 = (int)q0;
    const int out_at = c1 * layout.out_stride[0];
    const int i = 2 * c0;  // the first of this thread's 2 elements of the row
    wait_for_earlier_kernels();
    if (layout.width - i >= 2) {
        const auto z_vec = *reinterpret_cast<const Pack<float2, 2, 16>*>(z_ptr + out_at + i);
        const auto theta_vec = *reinterpret_cast<const Pack<float, 2, 8>*>(theta_ptr + i);
        Pack<float2, 2, 16> out_vec;
        #pragma unroll
        for (int j = 0; j < 2; ++j) {
            rotate_batch_element(z_vec.at[j], theta_vec.at[j], out_vec.at[j]);
        }
        *reinterpret_cast<Pack<float2, 2, 16>*>(out_ptr + out_at + i) = out_vec;
    } else {
        #pragma unroll 1
        for (int e = i; e < layout.width; ++e) {
            rotate_batch_element(z_ptr[out_at + e], theta_ptr[e], out_ptr[out_at + e]);
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_rotate_batch
