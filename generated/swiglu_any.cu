// Made by kgen 0.1.0 from swiglu.k. Do not edit; remake it with
//     kgen compile swiglu.k -o swiglu_any.cu --dtype gate=f16,up=f32 --layout any --name swiglu_any
//
//     # The gate of a SwiGLU feed-forward layer.
//     input  gate, up                       # optional: fixes the order of the arguments
//     param  alpha = 1.0                    # a scalar passed by value, with a default
//     def    swish(x) = x / (1 + exp(-x))   # an expression function, inlined
//     let    g = swish(gate)                # a temporary: never written to memory
//     out    = alpha * g * up               # a plain assignment is an output
//
// Inputs:  gate: float16, up: float32, alpha: float32 (by value)
// Outputs: out: float32
//
// Layout: any, up to 4 dimensions after merging.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_fp16.h>

namespace kgen_swiglu_any {

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

// The coordinates of an element, the fastest first, from its number below 2^(bits - 1).
// x / extent == (high half of x * magic + x) >> shift: no division.
template <int Rank, typename Index, typename Count, typename Layout>
static __device__ __forceinline__ void find_coordinates(Count x, const Layout& layout, Index (&c)[Rank])
{
    if constexpr (Rank > 1) {
        #pragma unroll
        for (int d = 0; d < Rank - 1; ++d) {
            const Count high = sizeof(Count) == 4 ? __umulhi(x, layout.magic[d]) : __umul64hi(x, layout.magic[d]);
            const Count quotient = (high + x) >> layout.shift[d];
            c[d] = (Index)(x - quotient * layout.extent[d]);
            x = quotient;
        }
    }
    c[Rank - 1] = (Index)x;
}

// The offset of coordinates from dimension First on.  There are strides for the slowest dimensions, or for all.
template <int First, int Rank, int Slowest, typename Index>
static __device__ __forceinline__ Index offset_of(const Index (&c)[Rank], const Index (&strides)[Slowest])
{
    Index offset = 0;
    #pragma unroll
    for (int d = First; d < Rank; ++d) {
        offset += c[d] * strides[d - (Rank - Slowest)];
    }
    return offset;
}

// Whether N elements are consecutive, and aligned to all of them.
template <int N, typename T, typename Step>
static __device__ __forceinline__ bool is_run(const T* from, const Step step)
{
    return step == 1 && reinterpret_cast<unsigned long long>(from) % (N * sizeof(T)) == 0;
}

// N elements, each a step after the one before: one access where they are consecutive and aligned.
template <int N, typename T, typename Step>
static __device__ __forceinline__ Pack<T, N, N * sizeof(T)> load_run(const T* from, const Step step)
{
    using Run = Pack<T, N, N * sizeof(T)>;
    if (step == 1 && reinterpret_cast<unsigned long long>(from) % sizeof(Run) == 0) {
        return *reinterpret_cast<const Run*>(from);
    }
    Run found;
    #pragma unroll
    for (int j = 0; j < N; ++j) {
        found.at[j] = from[j * step];
    }
    return found;
}

// Shifts Count + Block words down by `off` bytes; the first Count words are the result.  off: a multiple of Unit,
// less than Block words.
template <int Count, int Block, int Unit>
static __device__ __forceinline__ void funnel_shift_words(unsigned int* words, unsigned int off)
{
    #pragma unroll
    for (int step = Block / 2; step > 0; step /= 2) {
        #pragma unroll
        for (int k = 0; k < Count + Block - step; ++k) {
            words[k] = off & (4 * step) ? words[k + step] : words[k];
        }
    }
    #pragma unroll
    for (int k = 0; k < (Unit < 4 ? Count : 0); ++k) {
        const unsigned long long pair = static_cast<unsigned long long>(words[k + 1]) << 32 | words[k];
        words[k] = static_cast<unsigned int>(pair >> (8 * (off % 4)));
    }
}

// N elements that begin `off` bytes after an aligned address: loads aligned blocks of Bytes and shifts them.
template <typename T, int N, int Bytes>
static __device__ __forceinline__ Pack<T, N, N * sizeof(T)> load_aligned_blocks(const T* from, unsigned int off)
{
    constexpr int count = N * sizeof(T) / 4, block = Bytes / 4;
    const auto blocks = reinterpret_cast<const Pack<unsigned int, block, Bytes>*>(from);
    Pack<unsigned int, block, Bytes> read[count / block + 1];
    #pragma unroll
    for (int k = 0; k <= count / block; ++k) {
        read[k] = blocks[k];
    }
    unsigned int words[count + block];
    #pragma unroll
    for (int k = 0; k < count + block; ++k) {
        words[k] = read[k / block].at[k % block];
    }
    funnel_shift_words<count, block, sizeof(T)>(words, off);
    Pack<T, N, N * sizeof(T)> result;
    memcpy(&result, words, sizeof(result));
    return result;
}

// N elements at an address that is a multiple of sizeof(T) only: loads the two aligned blocks around them and shifts.
template <typename T, int N>
static __device__ __forceinline__ Pack<T, N, N * sizeof(T)> load_unaligned(const T* from)
{
    constexpr int bytes = N * sizeof(T);
    const unsigned int off = reinterpret_cast<unsigned long long>(from) % bytes;
    return load_aligned_blocks<T, N, bytes>(from - off / sizeof(T), off);
}

// 1 / b within 1 ulp, without checks; 0 where that is less than 2^-126.
static __device__ __forceinline__ float reciprocal_approx(float b)
{
#if defined(__CUDA_ARCH__)
    float result;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(b));
    return result;
#else
    return 1.0f / b;
#endif
}

// a / b, rounded to nearest unless below 2^-100, where b is at least 1, or NaN.  Both are scaled, since 1 / b is no
// normal number for the largest b.
static __device__ __forceinline__ float divide_by_large(float a, float b)
{
    const float dividend = 0.25f * a, divisor = 0.25f * b, estimate = reciprocal_approx(divisor);
    const float q = dividend * estimate, rest = fmaf(-q, divisor, dividend), refined = fmaf(rest, estimate, q);
    return fabsf(rest) > 0.0f ? fmaf(fmaf(-refined, divisor, dividend), estimate, refined) : q;  // not infinite
}

// One element.
static __device__ __forceinline__ void
swiglu_any_element(const __half gate_v, const float up_v, const float alpha_v, float& out_v)
{
    const float gate_f32 = __half2float(gate_v);
    // let    g = swish(gate)
    const float g_v = divide_by_large(gate_f32, 1.0f + expf(-gate_f32));
    // out    = alpha * g * up
    out_v = alpha_v * g_v * up_v;
}

// Operands in memory order, 4 elements a thread.
// Launch: ceil(n / 1024) blocks of 256 threads, for n elements.
// Alignment, in bytes: 16 for out and up; 8 for gate.
// No other operand may overlap out in memory.
template <typename Count>
static __device__ __forceinline__ void
swiglu_any_contiguous_any(const __half* gate_ptr,
                          const float* up_ptr,
                          float* __restrict__ out_ptr,
                          const float alpha_v,
                          const Count n)
{
    const Count i = 4 * (blockIdx.x * Count(256) + threadIdx.x);  // the first of this thread's 4 elements
    const Count whole_to = n / 4 * 4;  // whole groups lie up to here
    wait_for_earlier_kernels();
    if (i < whole_to) {
        const auto gate_vec = *reinterpret_cast<const Pack<__half, 4, 8>*>(gate_ptr + i);
        const auto up_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(up_ptr + i);
        Pack<float, 4, 16> out_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            swiglu_any_element(gate_vec.at[j], up_vec.at[j], alpha_v, out_vec.at[j]);
        }
        *reinterpret_cast<Pack<float, 4, 16>*>(out_ptr + i) = out_vec;
    }
    // Elements that are in no whole group, one a thread of the first block.
    const Count e = whole_to + (255 - threadIdx.x);
    if (blockIdx.x == 0 && e < n) {
        swiglu_any_element(gate_ptr[e], up_ptr[e], alpha_v, out_ptr[e]);
    }
    let_next_kernel_start();
}

// For n < 2^31 elements.
extern "C" __global__ void __launch_bounds__(256)
swiglu_any_contiguous(const __half* gate_ptr, const float* up_ptr, float* __restrict__ out_ptr,
                      const float alpha_v, const unsigned int n)
{
    swiglu_any_contiguous_any(gate_ptr, up_ptr, out_ptr, alpha_v, n);
}

// Operands in memory order, 4 elements a thread.
// Launch: ceil((n + 3) / 1024) blocks of 256 threads, for n < 2^31 - 1032 elements.
// Groups begin at multiples of 16 bytes in out.
// Alignment, in bytes: 4 for up.
// Of any alignment, read as aligned blocks: gate.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
swiglu_any_contiguous_unaligned(const __half* gate_ptr,
                                const float* up_ptr,
                                float* __restrict__ out_ptr,
                                const float alpha_v,
                                const int n)
{
    // Groups begin where the output is aligned; the first may begin before the first element.
    const int before = (int)(reinterpret_cast<unsigned long long>(out_ptr) / 4 % 4);
    const int i = 4 * (int)(blockIdx.x * 256u + threadIdx.x) - before;  // the first of this thread's 4 elements
    const int whole_from = (before == 0 ? 0 : 4 - before) + 4;  // groups and the blocks around them lie from here
    const int behind = n - whole_from - 4;
    const int whole_to = whole_from + (behind >= 4 ? behind / 4 * 4 : 0);  // up to here
    wait_for_earlier_kernels();
    if (i >= whole_from && i < whole_to) {
        const auto gate_vec = load_unaligned<__half, 4>(gate_ptr + i);
        const auto up_vec = *reinterpret_cast<const Pack<float, 4, 4>*>(up_ptr + i);
        Pack<float, 4, 16> out_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            swiglu_any_element(gate_vec.at[j], up_vec.at[j], alpha_v, out_vec.at[j]);
        }
        *reinterpret_cast<Pack<float, 4, 16>*>(out_ptr + i) = out_vec;
    }
    // Elements that are in no whole group, one a thread of the first block.
    const int edge = 255 - threadIdx.x;
    const int e = edge < whole_from ? edge : whole_to + edge - whole_from;
    if (blockIdx.x == 0 && e < n) {
        swiglu_any_element(gate_ptr[e], up_ptr[e], alpha_v, out_ptr[e]);
    }
    let_next_kernel_start();
}

// Indices are 64-bit.
extern "C" __global__ void __launch_bounds__(256)
swiglu_any_contiguous_64bit(const __half* gate_ptr, const float* up_ptr, float* __restrict__ out_ptr,
                            const float alpha_v, const unsigned long long n)
{
    swiglu_any_contiguous_any(gate_ptr, up_ptr, out_ptr, alpha_v, n);
}

// Where the elements lie: Rank dimensions, the fastest first; strides in elements.
template <int Rank, typename Index, typename Count>
struct swiglu_any_layout {
    Index width;  // elements along the fastest dimension
    Index height;  // elements along the second
    Count extent[Rank];  // of what a kernel counts: elements, groups of a row or tiles
    Count magic[Rank];  // 2^bits * (2^shift - extent) / extent + 1, in integers
    Count shift[Rank];  // ceil(log2(extent))
    Index out_stride[Rank];
    Index gate_stride[Rank];
    Index up_stride[Rank];
};

// Tiles of 32 x 32 elements, one a block.
// Through shared memory where consecutive along the second dimension: gate and up.
// Launch: a block of 256 threads for each tile, the fastest dimension first.
// Limits: fewer than 2^31 elements, and every offset in bytes below 2^31.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
swiglu_any_tiled_4d(const __half* gate_ptr,
                    const float* up_ptr,
                    float* __restrict__ out_ptr,
                    const float alpha_v,
                    const swiglu_any_layout<4, int, unsigned int> layout)
{
    // Padded, so that both sides are spread over the banks.
    __shared__ __half gate_tile[32][33];
    __shared__ float up_tile[32][33];
    const unsigned int t = blockIdx.x;
    int c[4];
    find_coordinates(t, layout, c);
    const int p_first = 32 * c[0];  // where this block's tile begins, along the fastest dimension
    const int q_first = 32 * c[1];  // and along the second
    const int out_at = offset_of<2>(c, layout.out_stride);
    const int gate_at = offset_of<2>(c, layout.gate_stride);
    const int up_at = offset_of<2>(c, layout.up_stride);
    const bool gate_is_transposed = layout.gate_stride[1] == 1 && layout.gate_stride[0] != 1;
    const bool up_is_transposed = layout.up_stride[1] == 1 && layout.up_stride[0] != 1;
    const int slot = threadIdx.x % 32;
    const int row = threadIdx.x / 32;
    wait_for_earlier_kernels();
    // Neighbouring threads read along the dimension along which an operand is consecutive.
    __half gate_read[4];
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        const int u = row + 8 * j;
        const int p = p_first + (gate_is_transposed ? u : slot);
        const int q = q_first + (gate_is_transposed ? slot : u);
        if (p < layout.width && q < layout.height) {
            gate_read[j] = gate_ptr[gate_at + q * layout.gate_stride[1] + p * layout.gate_stride[0]];
        }
    }
    float up_read[4];
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        const int u = row + 8 * j;
        const int p = p_first + (up_is_transposed ? u : slot);
        const int q = q_first + (up_is_transposed ? slot : u);
        if (p < layout.width && q < layout.height) {
            up_read[j] = up_ptr[up_at + q * layout.up_stride[1] + p * layout.up_stride[0]];
        }
    }
    if (gate_is_transposed) {
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            gate_tile[row + 8 * j][slot] = gate_read[j];
        }
    }
    if (up_is_transposed) {
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            up_tile[row + 8 * j][slot] = up_read[j];
        }
    }
    __syncthreads();

    // They write along the fastest dimension.
    const int p = p_first + slot;
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        const int u = row + 8 * j;
        const int q = q_first + u;
        if (p < layout.width && q < layout.height) {
            const __half gate_one = gate_is_transposed ? gate_tile[slot][u] : gate_read[j];
            const float up_one = up_is_transposed ? up_tile[slot][u] : up_read[j];
            swiglu_any_element(gate_one, up_one, alpha_v,
                               out_ptr[out_at + q * layout.out_stride[1] + p]);
        }
    }
    let_next_kernel_start();
}

// Rows, 4 elements of a row a thread.
// Launch: ceil(n / 256) blocks of 256 threads, for n groups.
// Groups begin at multiples of 16 bytes in out.
// At any stride along rows, 0 for one element a row; by vectors where consecutive and aligned: gate and up.
// No other operand may overlap out in memory.
template <int Rank, typename Index, typename Count>
static __device__ __forceinline__ void
swiglu_any_rows_any(const __half* gate_ptr,
                    const float* up_ptr,
                    float* __restrict__ out_ptr,
                    const float alpha_v,
                    const swiglu_any_layout<Rank, Index, Count>& layout,
                    const Count n)
{
    const Count t = blockIdx.x * Count(256) + threadIdx.x;
    if (t >= n) {
        return;
    }
    Index c[Rank];
    find_coordinates(t, layout, c);
    const Index out_at = offset_of<1>(c, layout.out_stride);
    const Index gate_at = offset_of<1>(c, layout.gate_stride);
    const Index up_at = offset_of<1>(c, layout.up_stride);
    // Groups begin where the output is aligned; the first of a row may begin before it.
    // Unsigned: or NVVM splits the stores of groups.
    const unsigned int before = (unsigned int)(reinterpret_cast<unsigned long long>(out_ptr + out_at) / 4 % 4);
    const Index i = 4 * c[0] - before;  // the first of this thread's 4 elements of the row
    wait_for_earlier_kernels();
    if (i >= 0 && layout.width - i >= 4) {
        const __half* const gate_from = gate_ptr + gate_at + i * layout.gate_stride[0];
        Pack<__half, 4, 8> gate_vec;
        const float* const up_from = up_ptr + up_at + i * layout.up_stride[0];
        Pack<float, 4, 16> up_vec;
        // One branch for all, or loads of one operand wait for those of another.
        if (is_run<4>(gate_from, layout.gate_stride[0]) && is_run<4>(up_from, layout.up_stride[0])) {
            gate_vec = *reinterpret_cast<const Pack<__half, 4, 8>*>(gate_from);
            up_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(up_from);
        } else {
            gate_vec = load_run<4>(gate_from, layout.gate_stride[0]);
            up_vec = load_run<4>(up_from, layout.up_stride[0]);
        }
        Pack<float, 4, 16> out_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            swiglu_any_element(gate_vec.at[j], up_vec.at[j], alpha_v, out_vec.at[j]);
        }
        *reinterpret_cast<Pack<float, 4, 16>*>(out_ptr + out_at + i) = out_vec;
    } else {
        #pragma unroll 1
        for (Index e = i < 0 ? 0 : i; e < i + 4 && e < layout.width; ++e) {
            swiglu_any_element(gate_ptr[gate_at + e * layout.gate_stride[0]],
                               up_ptr[up_at + e * layout.up_stride[0]], alpha_v,
                               out_ptr[out_at + e]);
        }
    }
    let_next_kernel_start();
}

// 2 dimensions. Limits: fewer than 2^31 elements, and every offset in bytes below 2^31.
extern "C" __global__ void __launch_bounds__(256)
swiglu_any_rows_2d(const __half* gate_ptr, const float* up_ptr, float* __restrict__ out_ptr,
                   const float alpha_v, const swiglu_any_layout<2, int, unsigned int> layout,
                   const unsigned int n)
{
    swiglu_any_rows_any(gate_ptr, up_ptr, out_ptr, alpha_v, layout, n);
}

// 4 dimensions. Limits: fewer than 2^31 elements, and every offset in bytes below 2^31.
extern "C" __global__ void __launch_bounds__(256)
swiglu_any_rows_4d(const __half* gate_ptr, const float* up_ptr, float* __restrict__ out_ptr,
                   const float alpha_v, const swiglu_any_layout<4, int, unsigned int> layout,
                   const unsigned int n)
{
    swiglu_any_rows_any(gate_ptr, up_ptr, out_ptr, alpha_v, layout, n);
}

// 4 dimensions. Indices are 64-bit.
extern "C" __global__ void __launch_bounds__(256)
swiglu_any_rows_4d_64bit(const __half* gate_ptr, const float* up_ptr, float* __restrict__ out_ptr,
                         const float alpha_v,
                         const swiglu_any_layout<4, long long, unsigned long long> layout,
                         const unsigned long long n)
{
    swiglu_any_rows_any(gate_ptr, up_ptr, out_ptr, alpha_v, layout, n);
}

// 4 elements a thread, 128 apart, over Rank dimensions: out, gate and up at any strides.
// Launch: ceil(n / 512) blocks of 128 threads, for n elements.
// No other operand may overlap out in memory.
template <int Rank, typename Index, typename Count>
static __device__ __forceinline__ void
swiglu_any_strided_any(const __half* gate_ptr,
                       const float* up_ptr,
                       float* __restrict__ out_ptr,
                       const float alpha_v,
                       const swiglu_any_layout<Rank, Index, Count>& layout,
                       const Count n)
{
    const Count i = blockIdx.x * Count(512) + threadIdx.x;
    if (i >= n) {
        return;
    }
    wait_for_earlier_kernels();
    if (i + 384 < n) {  // this thread has all of its 4 elements: everything is read before anything is written
        Index out_at_kept[4];
        float out_vec[4];
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            const Count e = i + 128 * j;
            Index c[Rank];
            find_coordinates(e, layout, c);
            const Index out_at = offset_of<0>(c, layout.out_stride);
            const Index gate_at = offset_of<0>(c, layout.gate_stride);
            const Index up_at = offset_of<0>(c, layout.up_stride);
            out_at_kept[j] = out_at;
            swiglu_any_element(gate_ptr[gate_at], up_ptr[up_at], alpha_v, out_vec[j]);
        }
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            out_ptr[out_at_kept[j]] = out_vec[j];
        }
    } else {
        #pragma unroll 1
        for (Count e = i; e < n; e += 128) {
            Index c[Rank];
            find_coordinates(e, layout, c);
            const Index out_at = offset_of<0>(c, layout.out_stride);
            const Index gate_at = offset_of<0>(c, layout.gate_stride);
            const Index up_at = offset_of<0>(c, layout.up_stride);
            swiglu_any_element(gate_ptr[gate_at], up_ptr[up_at], alpha_v, out_ptr[out_at]);
        }
    }
    let_next_kernel_start();
}

// 2 dimensions. Limits: fewer than 2^31 elements, and every offset in bytes below 2^31.
extern "C" __global__ void __launch_bounds__(128)
swiglu_any_strided_2d(const __half* gate_ptr, const float* up_ptr, float* __restrict__ out_ptr,
                      const float alpha_v, const swiglu_any_layout<2, int, unsigned int> layout,
                      const unsigned int n)
{
    swiglu_any_strided_any(gate_ptr, up_ptr, out_ptr, alpha_v, layout, n);
}

// 4 dimensions. Limits: fewer than 2^31 elements, and every offset in bytes below 2^31.
extern "C" __global__ void __launch_bounds__(128)
swiglu_any_strided_4d(const __half* gate_ptr, const float* up_ptr, float* __restrict__ out_ptr,
                      const float alpha_v, const swiglu_any_layout<4, int, unsigned int> layout,
                      const unsigned int n)
{
    swiglu_any_strided_any(gate_ptr, up_ptr, out_ptr, alpha_v, layout, n);
}

// 8 dimensions. Indices are 64-bit.
extern "C" __global__ void __launch_bounds__(128)
swiglu_any_strided_8d_64bit(const __half* gate_ptr, const float* up_ptr, float* __restrict__ out_ptr,
                            const float alpha_v,
                            const swiglu_any_layout<8, long long, unsigned long long> layout,
                            const unsigned long long n)
{
    swiglu_any_strided_any(gate_ptr, up_ptr, out_ptr, alpha_v, layout, n);
}

}  // namespace kgen_swiglu_any

// --- Host code: checks the arrays of a call, decides among the kernels above, and launches them. ---

#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)

#include <cuda_runtime.h>
#include <stdio.h>
#include <utility>

#ifndef KGEN_ARRAY_H
#define KGEN_ARRAY_H

#include <stddef.h>
#include <stdint.h>

/* DLPack's DLDataType: the kind of an element, its bits, and 1. */
typedef struct kgen_dtype {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
} kgen_dtype;

/* An array in device memory.  It has the layout of DLPack's DLTensor: pointers to both are alike. */
typedef struct kgen_array {
    void* data;
    int32_t device_type; /* these two are not read */
    int32_t device_id;
    int32_t ndim; /* 0 to 8 */
    kgen_dtype dtype;
    const int64_t* shape;
    const int64_t* strides; /* in elements; NULL: C order */
    uint64_t byte_offset;   /* from data to element (0, ..., 0) */
} kgen_array;

/*
 * What launchers return.  In bits 8 to 15 is the number of the array at fault, counting from 1 in the order of the
 * parameters, or 0.  Results below 0 are errors of CUDA calls: -cudaError_t.
 */
enum {
    KGEN_SUCCESS = 0,
    KGEN_NULL_ARRAY = 1,
    KGEN_BAD_RANK = 2,
    KGEN_BAD_DTYPE = 3,
    KGEN_BAD_SHAPE = 4,
    KGEN_TOO_LARGE = 5,
    KGEN_MISALIGNED = 6,
    KGEN_OVERLAP = 7,
    KGEN_NOT_COVERED = 8,
    KGEN_SMALL_WORKSPACE = 9
};

#endif

#define KGEN_FLOAT16 {2, 16, 1}
#define KGEN_FLOAT32 {2, 32, 1}

namespace kgen_swiglu_any {

// The dimensions that a kernel walks, the fastest first, and the strides of its accesses along them.
constexpr int ACCESSES = 3;
struct Space {
    int rank;
    long long shape[8];
    long long strides[ACCESSES][8];
};

static long long kgen_ceil_div(long long a, long long b) { return (a + b - 1) / b; }

static long long kgen_shift(long long d)
{
    long long bits = 0;
    for (long long rest = d > 1 ? d - 1 : 0; rest > 0; rest /= 2) ++bits;
    return bits;
}

// An array that has passed its checks: where its elements lie, and the range of bytes that they are in.
struct Array {
    uintptr_t address;  // of element (0, ..., 0)
    uintptr_t first, last;
    int rank;
    long long size;  // elements
    long long itemsize;
    long long shape[8], strides[8];  // 0 along dimensions of one element
};

// A status about an array; arrays are counted from 1.
static int status_of(int status, int number) { return status + 256 * number; }

static long long magnitude(long long stride) { return stride < 0 ? -stride : stride; }

// Checks an argument by itself.  Sizes and spans are at most 2^48 elements, so that sums of them do not overflow.
static int read_array(const kgen_array* from, kgen_dtype dtype, Array* to)
{
    const long long limit = 1ll << 48;
    if (from == nullptr || (from->ndim > 0 && from->shape == nullptr)) return KGEN_NULL_ARRAY;
    if (from->ndim < 0 || from->ndim > 8) return KGEN_BAD_RANK;
    const kgen_dtype& found = from->dtype;
    if (found.code != dtype.code || found.bits != dtype.bits || found.lanes != 1) return KGEN_BAD_DTYPE;
    to->rank = from->ndim;
    to->itemsize = dtype.bits / 8;
    to->size = 1;
    long long lowest = 0, highest = 0, dense = 1;
    for (int i = from->ndim - 1; i >= 0; --i) {
        const long long n = from->shape[i], stride = from->strides == nullptr ? dense : from->strides[i];
        if (n < 0) return KGEN_BAD_SHAPE;
        if (n > limit / dense) return KGEN_TOO_LARGE;
        if (n > 1 && (stride > limit / (n - 1) || stride < -limit / (n - 1))) return KGEN_TOO_LARGE;
        to->shape[i] = n;
        to->strides[i] = n > 1 ? stride : 0;
        const long long span = (n - 1) * to->strides[i];
        (span < 0 ? lowest : highest) += span;
        to->size *= n;
        dense *= n > 1 ? n : 1;
    }
    to->address = reinterpret_cast<uintptr_t>(from->data) + static_cast<uintptr_t>(from->byte_offset);
    if (to->size > 0 && from->data == nullptr) return KGEN_NULL_ARRAY;
    if (to->address % to->itemsize != 0) return KGEN_MISALIGNED;
    to->first = to->address + lowest * to->itemsize;
    to->last = to->address + (highest + 1) * to->itemsize - 1;
    return KGEN_SUCCESS;
}

// Whether two indices of an array may lead to one element: unless each dimension steps over all faster ones.
static bool overlaps_itself(const Array& array)
{
    for (int i = 0; i < array.rank; ++i) {
        const long long step = magnitude(array.strides[i]);
        long long reach = 0;
        for (int d = 0; d < array.rank; ++d) {
            const long long other = magnitude(array.strides[d]);
            if (d != i && other <= step) reach += (array.shape[d] - 1) * other;
        }
        if (array.shape[i] > 1 && step <= reach) return array.size > 0;
    }
    return false;
}

// The bytes that an array occupies in each period: the first as an address, and how many.
static long long window(const Array& array, long long period, uintptr_t* first)
{
    long long bytes = array.itemsize;
    *first = array.address;
    for (int i = 0; i < array.rank; ++i) {
        const long long step = array.strides[i] * array.itemsize, span = (array.shape[i] - 1) * step;
        if (step % period != 0) {
            *first += span < 0 ? span : 0;
            bytes += magnitude(span);
        }
    }
    return bytes;
}

// Whether two arrays lie beside each other in each period of a stride of the first, such as columns of one matrix.
static bool interleaved(const Array& one, const Array& other)
{
    for (int i = 0; i < one.rank; ++i) {
        const long long period = magnitude(one.strides[i]) * one.itemsize;
        if (period == 0) continue;
        uintptr_t a, b;
        const long long a_bytes = window(one, period, &a), b_bytes = window(other, period, &b);
        const long long apart = static_cast<long long>((b % period + period - a % period) % period);
        if (a_bytes <= apart && apart + b_bytes <= period) return true;
    }
    return false;
}

// Whether two arrays may share a byte.
static bool overlap(const Array& one, const Array& other)
{
    if (one.size == 0 || other.size == 0 || one.last < other.first || other.last < one.first) return false;
    return !interleaved(one, other) && !interleaved(other, one);
}

// What the program says of an array.  `rank` is -1 where any will do.
struct Operand {
    const char* name;
    kgen_dtype dtype;
    int rank;
    bool is_written;
};

// Checks all arguments, and that no array that is written overlaps itself or another one.
static int read_arrays(const kgen_array* const* given, const Operand* operands, int count, Array* arrays)
{
    for (int i = 0; i < count; ++i) {
        const int status = read_array(given[i], operands[i].dtype, &arrays[i]);
        if (status != KGEN_SUCCESS) return status_of(status, i + 1);
        if (operands[i].rank >= 0 && arrays[i].rank != operands[i].rank) return status_of(KGEN_BAD_RANK, i + 1);
    }
    for (int i = 0; i < count; ++i) {
        bool overlaps = operands[i].is_written && overlaps_itself(arrays[i]);
        for (int k = 0; k < count && operands[i].is_written; ++k) {
            overlaps = overlaps || (k != i && overlap(arrays[i], arrays[k]));
        }
        if (overlaps) return status_of(KGEN_OVERLAP, i + 1);
    }
    return KGEN_SUCCESS;
}

static void swap_dimensions(Space* space, int accesses, int a, int b)
{
    std::swap(space->shape[a], space->shape[b]);
    for (int k = 0; k < accesses; ++k) std::swap(space->strides[k][a], space->strides[k][b]);
}

// 1 if dimension a has to come after dimension b, -1 if their order is right, 0 if no access decides.
static int compare_dimensions(const Space& space, int accesses, int a, int b)
{
    for (int k = 0; k < accesses; ++k) {
        const long long one = magnitude(space.strides[k][a]), other = magnitude(space.strides[k][b]);
        if (one == 0 || other == 0) continue;
        if (one != other) return one > other ? 1 : -1;
        if (space.shape[a] > space.shape[b]) return 1;
    }
    return 0;
}

// Orders the dimensions, the fastest first: the first access with different strides decides each pair, as in PyTorch.
static void order_dimensions(Space* space, int accesses)
{
    for (int start = 1; start < space->rank; ++start) {
        for (int at = start, before = start - 1; before >= 0; --before) {
            const int verdict = compare_dimensions(*space, accesses, before, at);
            if (verdict < 0) break;
            if (verdict == 0) continue;
            swap_dimensions(space, accesses, before, at);
            at = before;
        }
    }
}

// Merges neighbouring dimensions that all accesses walk with one stride.  The others get extents of 1 and strides of 0.
static void merge_dimensions(Space* space, int accesses)
{
    int last = 0;
    for (int d = 1; d < space->rank; ++d) {
        bool continues = true;
        for (int k = 0; k < accesses; ++k) {
            const long long* const strides = space->strides[k];
            continues = continues && space->shape[last] * strides[last] == strides[d];
        }
        if (continues) space->shape[last] *= space->shape[d];
        if (!continues && ++last != d) swap_dimensions(space, accesses, last, d);
    }
    for (int d = last + 1; d < 8; ++d) {
        space->shape[d] = 1;
        for (int k = 0; k < accesses; ++k) space->strides[k][d] = 0;
    }
    space->rank = last + 1;
}

// The space of a kernel.  `accesses` lists its arrays: first those that are written, all of one shape, to which the
// others are broadcast.
static int find_space(const Array* arrays, const int* accesses, int count, int written, Space* space)
{
    const Array& results = arrays[accesses[0]];
    *space = Space();
    for (int k = 0; k < count; ++k) {
        const Array& array = arrays[accesses[k]];
        const int missing = results.rank - array.rank;
        bool fits = k < written ? missing == 0 : missing >= 0;
        space->rank = 0;
        for (int i = results.rank - 1; i >= 0 && fits; --i) {
            const long long n = results.shape[i], own = i < missing ? 1 : array.shape[i - missing];
            fits = own == n || (own == 1 && k >= written);
            if (n == 1) continue;
            space->shape[space->rank] = n;
            space->strides[k][space->rank++] = own == 1 ? 0 : array.strides[i - missing];
        }
        if (!fits) return status_of(KGEN_BAD_SHAPE, accesses[k] + 1);
    }
    if (space->rank == 0) {  // one element
        space->shape[space->rank++] = 1;
        for (int k = 0; k < count; ++k) space->strides[k][0] = 1;
    }
    if (results.size == 0) return KGEN_SUCCESS;
    order_dimensions(space, count);
    merge_dimensions(space, count);
    return KGEN_SUCCESS;
}

// Whether the first accesses walk consecutive elements along the fastest dimension.
static bool are_consecutive(const Space& space, int accesses)
{
    for (int k = 0; k < accesses; ++k) {
        if (space.strides[k][0] != 1) return false;
    }
    return true;
}

// Whether an input is consecutive along another dimension than the fastest, which then becomes the second.
static bool takes_tiles(Space* space, int accesses, int written, long long shortest)
{
    for (int k = written; k < accesses; ++k) {
        const long long* const strides = space->strides[k];
        for (int d = 1; d < space->rank && magnitude(strides[0]) > 1; ++d) {
            if (strides[d] == 1 && space->shape[d] >= shortest) {
                for (; d > 1; --d) swap_dimensions(space, accesses, d - 1, d);
                return true;
            }
        }
    }
    return false;
}

// Whether indices, and offsets in bytes, fit 32 bits.
static bool fits_32_bits(const Array* arrays, const int* accesses, int count)
{
    const uintptr_t most = 2147483647;
    for (int k = 0; k < count; ++k) {
        const Array& array = arrays[accesses[k]];
        if (array.address - array.first > most + 1 || array.last - array.address > most) return false;
    }
    return static_cast<uintptr_t>(arrays[accesses[0]].size) <= most;
}

// 2^bits * (2^shift - divisor) / divisor + 1, in as many bits as a number has.
template <typename Count>
static Count magic_of(unsigned long long divisor)
{
    unsigned long long rest = (1ull << kgen_shift(divisor)) - divisor, quotient = 0;
    for (unsigned int bit = 0; bit < 8 * sizeof(Count); ++bit) {
        rest *= 2;
        quotient = 2 * quotient + (rest >= divisor ? 1 : 0);
        rest -= rest >= divisor ? divisor : 0;
    }
    return (Count)(quotient + 1);
}

// The most elements by which the first group of a row begins before it: none where rows begin with whole groups.
template <int Group, typename T>
static long long most_before(const T* address, const long long (&strides)[8])
{
    bool is_whole = reinterpret_cast<uintptr_t>(address) % (Group * sizeof(T)) == 0;
    for (int d = 1; d < 8; ++d) is_whole = is_whole && strides[d] % Group == 0;
    return is_whole ? 0 : Group - 1;
}

// Whether kernels may start while the one ahead of them in the stream ends (programmatic dependent launch).
static bool may_start_early()
{
    int device = 0, major = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    return major >= 9;
}

// Queues a kernel on a grid of `x` by `y` blocks; of no blocks, which are no error, nothing.
template <typename Kernel, typename... Values>
static int launch(Kernel& kernel, long long x, long long y, int threads, bool starts_early, cudaStream_t stream,
                  Values... values)
{
    if (x > 2147483647 || y > 65535) return KGEN_TOO_LARGE;
    if (x == 0 || y == 0) return KGEN_SUCCESS;
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(static_cast<unsigned int>(x), static_cast<unsigned int>(y));
    config.blockDim = dim3(threads);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = starts_early && may_start_early() ? 1 : 0;
    return -static_cast<int>(cudaLaunchKernelEx(&config, kernel, values...));
}

// What a status means, with the name of the array at fault.
static const char* message_of(int status, const Operand* operands, int count)
{
    static const char* const meanings[] = {
        "success",
        "a null pointer",
        "another number of dimensions than the program has, or more than 8",
        "another dtype than the program was compiled for",
        "a negative extent, or extents that do not fit those of the other arrays",
        "more elements, or larger strides, than a launch can have",
        "an address that is no multiple of the element's size (256 bytes for workspace)",
        "memory that is written overlaps another array, or itself",
        "strides, extents or alignment that no kernel of this file is for",
        "less workspace than the program needs",
    };
    static thread_local char text[256];
    if (status < 0) return cudaGetErrorString(static_cast<cudaError_t>(-status));
    const int code = status % 256, number = status / 256;
    const char* const meaning = code <= KGEN_SMALL_WORKSPACE ? meanings[code] : "no status of this launcher";
    if (number == 0 || number > count) return meaning;
    snprintf(text, sizeof(text), "%s: %s", operands[number - 1].name, meaning);
    return text;
}

// What the kernels take.
struct Arguments {
    const __half* gate_ptr;
    const float* up_ptr;
    float* out_ptr;
    float alpha_v;
    cudaStream_t stream;
};

// The layout of a kernel that counts so much along the fastest two dimensions; and how much it counts in all.
template <int Rank, typename Index, typename Count>
static long long fill(swiglu_any_layout<Rank, Index, Count>* layout, const Space& space, long long first,
    long long second)
{
    long long n = 1;
    layout->width = (Index)space.shape[0];
    layout->height = (Index)space.shape[1];
    for (int d = 0; d < Rank; ++d) {
        const long long extent = d == 0 ? first : d == 1 ? second : space.shape[d];
        n *= extent;
        layout->extent[d] = (Count)extent;
        layout->magic[d] = magic_of<Count>(extent);
        layout->shift[d] = (Count)kgen_shift(extent);
        layout->out_stride[d] = (Index)space.strides[0][d];
        layout->gate_stride[d] = (Index)space.strides[1][d];
        layout->up_stride[d] = (Index)space.strides[2][d];
    }
    return n;
}

template <typename Count, auto& kernel>
static int launch_swiglu_any_contiguous_any(const Arguments& a, const Space& space)
{
    const long long* const shape = space.shape;
    const long long n = shape[0];
    return launch(kernel, kgen_ceil_div(n, 1024), 1, 256, true, a.stream,
                  a.gate_ptr, a.up_ptr, a.out_ptr, a.alpha_v, (Count)n);
}

template <int Rank, typename Index, typename Count, auto& kernel>
static int launch_swiglu_any_rows_any(const Arguments& a, const Space& space)
{
    const long long* const shape = space.shape;
    const auto& strides = space.strides;
    const long long before = most_before<4>(a.out_ptr, strides[0]);
    swiglu_any_layout<Rank, Index, Count> layout;
    const long long n = fill(&layout, space, kgen_ceil_div(shape[0] + before, 4), shape[1]);
    return launch(kernel, kgen_ceil_div(n, 256), 1, 256, true, a.stream,
                  a.gate_ptr, a.up_ptr, a.out_ptr, a.alpha_v, layout, (Count)n);
}

template <int Rank, typename Index, typename Count, auto& kernel>
static int launch_swiglu_any_strided_any(const Arguments& a, const Space& space)
{
    const long long* const shape = space.shape;
    swiglu_any_layout<Rank, Index, Count> layout;
    const long long n = fill(&layout, space, shape[0], shape[1]);
    return launch(kernel, kgen_ceil_div(n, 512), 1, 128, true, a.stream,
                  a.gate_ptr, a.up_ptr, a.out_ptr, a.alpha_v, layout, (Count)n);
}

static int launch_swiglu_any_contiguous_unaligned(const Arguments& a, const Space& space)
{
    const long long* const shape = space.shape;
    const long long n = shape[0];
    return launch(swiglu_any_contiguous_unaligned, kgen_ceil_div(n + 3, 1024), 1, 256, true, a.stream,
                  a.gate_ptr, a.up_ptr, a.out_ptr, a.alpha_v, (unsigned int)n);
}

static int launch_swiglu_any_tiled_4d(const Arguments& a, const Space& space)
{
    const long long* const shape = space.shape;
    swiglu_any_layout<4, int, unsigned int> layout;
    const long long n = fill(&layout, space, kgen_ceil_div(shape[0], 32), kgen_ceil_div(shape[1], 32));
    return launch(swiglu_any_tiled_4d, n, 1, 256, true, a.stream,
                  a.gate_ptr, a.up_ptr, a.out_ptr, a.alpha_v, layout);
}

const Operand OPERANDS[] = {
    {"gate", KGEN_FLOAT16, -1, false},
    {"up", KGEN_FLOAT32, -1, false},
    {"out", KGEN_FLOAT32, -1, true},
};

// What a call launches for one kernel of the program: nothing where there is nothing to compute.
struct Choice {
    int (*launch)(const Arguments&, const Space&);
    Space space;
};

// The first kernel that takes these layouts.
static int choose_step1(const Array* arrays, Choice* choice)
{
    const int accesses[] = {2, 0, 1};
    const Space& space = choice->space;
    const int status = find_space(arrays, accesses, 3, 1, &choice->space);
    if (status != KGEN_SUCCESS || arrays[2].size == 0) return status;
    const bool is_run = space.rank == 1 && are_consecutive(space, 3);
    const bool is_aligned = (arrays[2].address | arrays[1].address) % 16 == 0 && arrays[0].address % 8 == 0;
    const bool is_rows = space.shape[0] >= 16 && are_consecutive(space, 1);
    const bool is_small = fits_32_bits(arrays, accesses, 3);
    if (is_run && is_aligned && space.shape[0] < 2147483648) {
        choice->launch = launch_swiglu_any_contiguous_any<unsigned int, swiglu_any_contiguous>;
    } else if (is_run && space.shape[0] < 2147482616) {
        choice->launch = launch_swiglu_any_contiguous_unaligned;
    } else if (is_run && is_aligned) {
        choice->launch = launch_swiglu_any_contiguous_any<unsigned long long, swiglu_any_contiguous_64bit>;
    } else if (space.rank <= 4 && is_small && is_rows && takes_tiles(&choice->space, 3, 1, 16)) {
        choice->launch = launch_swiglu_any_tiled_4d;
    } else if (space.rank <= 2 && is_small && is_rows) {
        choice->launch = launch_swiglu_any_rows_any<2, int, unsigned int, swiglu_any_rows_2d>;
    } else if (space.rank <= 4 && is_small && is_rows) {
        choice->launch = launch_swiglu_any_rows_any<4, int, unsigned int, swiglu_any_rows_4d>;
    } else if (space.rank <= 4 && is_rows) {
        choice->launch = launch_swiglu_any_rows_any<4, long long, unsigned long long, swiglu_any_rows_4d_64bit>;
    } else if (space.rank <= 2 && is_small) {
        choice->launch = launch_swiglu_any_strided_any<2, int, unsigned int, swiglu_any_strided_2d>;
    } else if (space.rank <= 4 && is_small) {
        choice->launch = launch_swiglu_any_strided_any<4, int, unsigned int, swiglu_any_strided_4d>;
    } else if (space.rank <= 8) {
        choice->launch = launch_swiglu_any_strided_any<8, long long, unsigned long long, swiglu_any_strided_8d_64bit>;
    } else {
        return KGEN_NOT_COVERED;
    }
    return KGEN_SUCCESS;
}

// Checks the arrays, and decides on the kernels.
static int decide(const kgen_array* const* given, Array* arrays, Choice* choices)
{
    int status = read_arrays(given, OPERANDS, 3, arrays);
    if (status == KGEN_SUCCESS) status = choose_step1(arrays, &choices[0]);
    return status;
}

}  // namespace kgen_swiglu_any

extern "C" int swiglu_any_launch(const kgen_array* gate_array,
                                 const kgen_array* up_array,
                                 const kgen_array* out_array,
                                 double alpha_value,
                                 void* /* workspace */,
                                 size_t /* workspace_bytes */,
                                 cudaStream_t stream)
{
    using namespace kgen_swiglu_any;
    const kgen_array* const given[] = {gate_array, up_array, out_array};
    Array arrays[3];
    Choice choices[1] = {};
    int status = decide(given, arrays, choices);
    if (status != KGEN_SUCCESS) return status;
    const Arguments a = {
        reinterpret_cast<const __half*>(arrays[0].address),
        reinterpret_cast<const float*>(arrays[1].address),
        reinterpret_cast<float*>(arrays[2].address),
        (float)alpha_value,
        stream,
    };
    for (const Choice& choice : choices) {
        if (status == KGEN_SUCCESS && choice.launch != nullptr) status = choice.launch(a, choice.space);
    }
    return status;
}

extern "C" int swiglu_any_workspace_size(const kgen_array* gate_array,
                                         const kgen_array* up_array,
                                         const kgen_array* out_array,
                                         size_t* bytes)
{
    using namespace kgen_swiglu_any;
    const kgen_array* const given[] = {gate_array, up_array, out_array};
    Array arrays[3];
    Choice choices[1] = {};
    const int status = decide(given, arrays, choices);
    *bytes = 0;
    return status;
}

extern "C" const char* swiglu_any_error_string(int status)
{
    using namespace kgen_swiglu_any;
    return message_of(status, OPERANDS, 3);
}

#endif
