// Made by kgen 0.1.0 from dequantize.k. Do not edit; remake it with
//     kgen compile dequantize.k -o dequantize_rows.cu --dtype q=i8,scale=f32 --shape 'q=?x?,scale=?x1' --name dequantize_rows
//
//     # Back from int8 with one scale a row: q is (rows, columns), scale is (rows, 1).
//     input q: int8, scale: float
//     out: half = cast<float>(q) * scale
//
// Inputs:  q: int8, scale: float32
// Outputs: out: float16
//
// Chosen: rows: `scale` is not dense in the order in which the outputs are walked.
// Chosen: element by element: `out` and `q` are not aligned to groups of 8.
// Chosen: 32-bit indices: every byte offset is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_fp16.h>

// N consecutive elements that move as one access of Bytes bytes at a time.
template <typename T, int N, int Bytes>
struct alignas(Bytes) Pack {
    T at[N];
};

// One element: out: half = cast<float>(q) * scale
static __device__ __forceinline__ void
dequantize_rows_element(const signed char q_v, const float scale_v, __half& out_v)
{
    out_v = __float2half_rn((float)q_v * scale_v);
}

// Where the elements lie: 2 dimensions, the fastest first; strides in elements.
struct dequantize_rows_rows2_layout {
    int width;  // elements along the fastest dimension
    unsigned int extent[1];  // of groups in a row, then of the other dimensions
    unsigned int magic[1];  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int shift[1];  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
    int out_stride[1];  // of out and q
    int scale_stride[1];
};

// Rows, 8 elements of a row a thread.
// Launch: ceil(n / 256) blocks of 256 threads (a divisor of what every SM holds), for n groups.
// Limits: fewer than 2^31 elements, and every offset in bytes below 2^31.
// Alignment, in bytes: 2 for out; 1 for q.
// One element a row: scale.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
dequantize_rows_rows2(const signed char* __restrict__ q_ptr,
                      const float* __restrict__ scale_ptr,
                      __half* __restrict__ out_ptr,
                      const dequantize_rows_rows2_layout layout,
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
    const int scale_at = c1 * layout.scale_stride[0];
    const int i = 8 * c0;  // the first of this thread's 8 elements of the row
    const float scale_v = scale_ptr[scale_at];
    if (layout.width - i >= 8) {
        const auto q_vec = *reinterpret_cast<const Pack<signed char, 8, 1>*>(q_ptr + out_at + i);
        Pack<__half, 8, 2> out_vec;
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            dequantize_rows_element(q_vec.at[j], scale_v, out_vec.at[j]);
        }
        *reinterpret_cast<Pack<__half, 8, 2>*>(out_ptr + out_at + i) = out_vec;
    } else {
        for (int e = i; e < layout.width; ++e) {
            dequantize_rows_element(q_ptr[out_at + e], scale_v, out_ptr[out_at + e]);
        }
    }
}
