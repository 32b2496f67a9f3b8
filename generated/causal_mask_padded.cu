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
// Chosen: strided: `scores` is not contiguous in the order in which the outputs are walked.
// Chosen: 32-bit indices: every byte offset is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

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
struct causal_mask_padded_strided3_layout {
    unsigned int extent[2];  // of all but the slowest dimension
    unsigned int magic[2];  // x / extent[d] == (__umulhi(x, magic[d]) + x) >> shift[d]
    unsigned int shift[2];  // for every x < 2^31
    int scores_stride[3];
};

// One element a thread over 3 dimensions: scores at any strides, out in memory order.
// Launch: ceil(n / 128) blocks of 128 threads (a divisor of what every SM holds), for n elements.
extern "C" __global__ void __launch_bounds__(128)
causal_mask_padded_strided3(const float* __restrict__ scores_ptr,
                            float* __restrict__ out_ptr,
                            const float scale_v,
                            const causal_mask_padded_strided3_layout layout,
                            const unsigned int n)
{
    const unsigned int i = blockIdx.x * 128u + threadIdx.x;
    if (i >= n) {
        return;
    }
    const unsigned int q0 = (__umulhi(i, layout.magic[0]) + i) >> layout.shift[0];
    const int c0 = (int)(i - q0 * layout.extent[0]);
    const unsigned int q1 = (__umulhi(q0, layout.magic[1]) + q0) >> layout.shift[1];
    const int c1 = (int)(q0 - q1 * layout.extent[1]);
    const int c2 = (int)q1;
    const int scores_at = c0 * layout.scores_stride[0] + c1 * layout.scores_stride[1]
                        + c2 * layout.scores_stride[2];
    causal_mask_padded_element(scores_ptr[scores_at], scale_v, c0, c1, out_ptr[i]);
}
