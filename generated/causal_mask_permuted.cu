// Made by kgen 0.1.0 from causal_mask.k. Do not edit; remake it with
//     kgen compile causal_mask.k -o causal_mask_permuted.cu --dtype scores=f32 --shape scores=8x512x512 --strides scores=1x8x4096 --name causal_mask_permuted
//
//     # Attention scores (..., query, key), scaled, with the future masked out.
//     param scale: float = 0.125
//     out = index(-1) <= index(-2) ? scores * scale : -inf
//
// Inputs:  scores: float32, scale: float32 (by value)
// Outputs: out: float32
//
// Chosen: contiguous: 4 elements a thread, so that `scores` moves in 16-byte accesses.
// Chosen: 32-bit indices: every element number is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

namespace kgen_causal_mask_permuted {

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
causal_mask_permuted_element(const float scores_v,
                             const float scale_v,
                             const long long index2,
                             const long long index1,
                             float& out_v)
{
    out_v = index2 <= index1 ? scores_v * scale_v : __int_as_float(0xff800000 /* -inf */);
}

// Where the elements lie: 3 dimensions, the fastest first.
struct causal_mask_permuted_contiguous_layout {
    unsigned int extent[2];  // of all but the slowest dimension
    unsigned int magic[2];  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int shift[2];  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
};

// Operands in memory order, 4 elements a thread.
// Launch: ceil(n / 1024) blocks of 256 threads (a divisor of every SM's threads), for n < 2^31 elements.
// Alignment, in bytes: 16 for out and scores.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
causal_mask_permuted_contiguous(const float* scores_ptr,
                                float* __restrict__ out_ptr,
                                const float scale_v,
                                const causal_mask_permuted_contiguous_layout layout,
                                const unsigned int n)
{
    const unsigned int i = 4u * (blockIdx.x * 256u + threadIdx.x);  // the first of this thread's 4 elements
    wait_for_earlier_kernels();
    if (i + 4 <= n) {
        const auto scores_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(scores_ptr + i);
        Pack<float, 4, 16> out_vec;
        const unsigned int q0 = (__umulhi(i, layout.magic[0]) + i) >> layout.shift[0];
        int c0 = (int)(i - q0 * layout.extent[0]);
        const unsigned int q1 = (__umulhi(q0, layout.magic[1]) + q0) >> layout.shift[1];
        int c1 = (int)(q0 - q1 * layout.extent[1]);
        int c2 = (int)q1;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            causal_mask_permuted_element(scores_vec.at[j], scale_v, c2, c1, out_vec.at[j]);
            if (++c0 == (int)layout.extent[0]) {
                c0 = 0;
                if (++c1 == (int)layout.extent[1]) {
                    c1 = 0;
                    ++c2;
                }
            }
        }
        *reinterpret_cast<Pack<float, 4, 16>*>(out_ptr + i) = out_vec;
    } else {
        #pragma unroll 1
        for (unsigned int e = i; e < n; ++e) {
            const unsigned int q0 = (__umulhi(e, layout.magic[0]) + e) >> layout.shift[0];
            const unsigned int q1 = (__umulhi(q0, layout.magic[1]) + q0) >> layout.shift[1];
            const int c1 = (int)(q0 - q1 * layout.extent[1]);
            const int c2 = (int)q1;
            causal_mask_permuted_element(scores_ptr[e], scale_v, c2, c1, out_ptr[e]);
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_causal_mask_permuted
