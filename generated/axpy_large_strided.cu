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
// Chosen: tiled: `y` is consecutive along another dimension, transposed through 64 x 64 tiles of shared memory.
// Chosen: 64-bit offsets: not every byte offset is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

namespace kgen_axpy_large_strided {

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

// One element: out = a * x + y
static __device__ __forceinline__ void
axpy_large_strided_element(const float x_v, const float y_v, const float a_v, float& out_v)
{
    out_v = a_v * x_v + y_v;
}

// Where the elements lie: 2 dimensions, the fastest first; strides in elements.
struct axpy_large_strided_tiled_2d_64bit_layout {
    long long out_stride[1];  // of out and x
    long long y_stride[1];
    int width;  // elements along the fastest dimension
    int height;  // elements along the second
    unsigned int extent[1];  // of tiles, then of the other dimensions
    unsigned int magic[1];  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int shift[1];  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
};

// Tiles of 64 x 64 elements, one a block; y transposed through shared memory. Offsets are 64-bit.
// Launch: a block of 256 threads for each tile, the fastest dimension first.
// Limits: fewer than 2^31 groups, and fewer than 2^31 elements along each dimension.
// Alignment, in bytes: 16 for out, x and y.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
axpy_large_strided_tiled_2d_64bit(const float* x_ptr,
                                  const float* y_ptr,
                                  float* __restrict__ out_ptr,
                                  const float a_v,
                                  const axpy_large_strided_tiled_2d_64bit_layout layout)
{
    __shared__ Pack<float, 4, 16> y_tile[64][16];

    const unsigned int t = blockIdx.x;
    const unsigned int q0 = (__umulhi(t, layout.magic[0]) + t) >> layout.shift[0];
    const int c0 = (int)(t - q0 * layout.extent[0]);
    const int c1 = (int)q0;
    const int p_first = 64 * c0;  // where this block's tile begins, along the fastest dimension
    const int q_first = 64 * c1;  // and along the second
    wait_for_earlier_kernels();
    const int row = threadIdx.x / 16;
    const int slot = threadIdx.x % 16;
    const int i = p_first + 4 * slot;
    // Whether the tile cuts no group: each group is then inside or outside, and is one vector access.
    const bool whole = (layout.width - p_first >= 64 || layout.width % 4 == 0) &&
                       (layout.height - q_first >= 64 || layout.height % 4 == 0);
    Pack<float, 4, 16> x_vec[4];
    if (whole) {
        Pack<float, 4, 16> y_in[4];
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const int p = p_first + 4 * row + k;
            const int q = q_first + 4 * slot;
            if (p < layout.width && q < layout.height) {
                y_in[k] = *reinterpret_cast<const Pack<float, 4, 16>*>(y_ptr + p * layout.y_stride[0] + q);
            }
        }
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const int q = q_first + row + 16 * k;
            if (i < layout.width && q < layout.height) {
                x_vec[k] = *reinterpret_cast<const Pack<float, 4, 16>*>(x_ptr + q * layout.out_stride[0] + i);
            }
        }
        // Each thread transposes 4 x 4 elements in registers; slots are swizzled to spread both sides over the banks.
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            Pack<float, 4, 16> transposed;
            #pragma unroll
            for (int k = 0; k < 4; ++k) {
                transposed.at[k] = y_in[k].at[j];
            }
            y_tile[4 * slot + j][row ^ slot] = transposed;
        }
    } else {
        for (int r = threadIdx.x; r < 64 * 64; r += 256) {
            const int u = r / 64;
            const int v = r % 64;
            const int p = p_first + u;
            const int q = q_first + v;
            if (p < layout.width && q < layout.height) {
                y_tile[v][(u / 4) ^ (v / 4)].at[u % 4] = *(y_ptr + p * layout.y_stride[0] + q);
            }
        }
    }
    __syncthreads();

    if (whole) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) {
            const int q = q_first + row + 16 * k;
            if (i < layout.width && q < layout.height) {
                const auto y_vec = y_tile[row + 16 * k][slot ^ ((row + 16 * k) / 4)];
                Pack<float, 4, 16> out_vec;
                #pragma unroll
                for (int j = 0; j < 4; ++j) {
                    axpy_large_strided_element(x_vec[k].at[j], y_vec.at[j], a_v, out_vec.at[j]);
                }
                *reinterpret_cast<Pack<float, 4, 16>*>(out_ptr + q * layout.out_stride[0] + i) = out_vec;
            }
        }
    } else {
        for (int r = threadIdx.x; r < 64 * 64; r += 256) {
            const int u = r % 64;
            const int v = r / 64;
            const int p = p_first + u;
            const int q = q_first + v;
            if (p < layout.width && q < layout.height) {
                axpy_large_strided_element(x_ptr[q * layout.out_stride[0] + p],
                                           y_tile[v][(u / 4) ^ (v / 4)].at[u % 4], a_v,
                                           out_ptr[q * layout.out_stride[0] + p]);
            }
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_axpy_large_strided
