// Made by kgen 0.1.0 from causal_mask.k. Do not edit; remake it with
//     kgen compile causal_mask.k -o causal_mask_padded.cu --dtype scores=f32 --shape scores=8x512x500 --strides scores=262144x512x1 --name causal_mask_padded
//
//     # Attention scores (..., query, key), scaled, with the future masked out.
//     param scale: float = 0.125
//     out = index(-1) <= index(-2) ? scores * scale : -inf
//
// Inputs:  scores: float32, scale: float32 (by value)
// Outputs: out: float32
//
// Chosen: rows: `scores` is not dense in the order in which the outputs are walked.
// Chosen: 32-bit indices: every byte offset is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

namespace kgen_causal_mask_padded {

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

// One element: out = index(-1) <= index(-2) ? scores * scale : -inf
static __device__ __forceinline__ void
causal_mask_padded_element(const float scores_v,
                           const float scale_v,
                           const long long index2,
                           const long long index1,
                           float& out_v)
{
    out_v = index2 <= index1 ? scores_v * scale_v : __int_as_float(0xff800000 /* -inf */);
}

// Where the elements lie: 3 dimensions, the fastest first; strides in elements.
struct causal_mask_padded_rows_3d_layout {
    int width;  // elements along the fastest dimension
    unsigned int extent[2];  // of groups in a row, then of the other dimensions
    unsigned int magic[2];  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int shift[2];  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
    int out_stride[2];
    int scores_stride[2];
};

// Rows, 4 elements of a row a thread.
// Launch: ceil(n / 256) blocks of 256 threads (a divisor of every SM's threads), for n groups.
// Limits: fewer than 2^31 elements, and every offset in bytes below 2^31.
// Alignment, in bytes: 16 for out and scores.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
causal_mask_padded_rows_3d(const float* scores_ptr,
                           float* __restrict__ out_ptr,
                           const float scale_v,
                           const causal_mask_padded_rows_3d_layout layout,
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
    const int scores_at = c1 * layout.scores_stride[0] + c2 * layout.scores_stride[1];
    const int i = 4 * c0;  // the first of this thread's 4 elements of the row
    wait_for_earlier_kernels();
    if (layout.width - i >= 4) {
        const auto scores_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(scores_ptr + scores_at + i);
        Pack<float, 4, 16> out_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            causal_mask_padded_element(scores_vec.at[j], scale_v, i + j, c1, out_vec.at[j]);
        }
        *reinterpret_cast<Pack<float, 4, 16>*>(out_ptr + out_at + i) = out_vec;
    } else {
        #pragma unroll 1
        for (int e = i; e < layout.width; ++e) {
            causal_mask_padded_element(scores_ptr[scores_at + e], scale_v, e, c1,
                                       out_ptr[out_at + e]);
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_causal_mask_padded
