// Made by kgen 0.1.0 from softmax.k. Do not edit; remake it with
//     kgen compile softmax.k -o softmax_short.cu --dtype x=bf16 --shape x=10000000x7 --name softmax_short
//
//     # Softmax over the last axis: three lines, one kernel.
//     let m = max(x, axis=-1, keepdims=true)
//     let e = exp(x - m)
//     y = e / sum(e, axis=-1, keepdims=true)
//
// Inputs:  x: bfloat16
// Outputs: y: bfloat16
//
// Chosen: rows: one thread takes a row of 7 elements and keeps it in registers, 7 elements each: one pass over memory.
// Chosen: staged: rows are short, or no multiple of 16 bytes: a block moves all of its rows through shared memory.
// Chosen: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Chosen: quotients by a sum are rounded to 16 bits or fewer, so exponentials with an error of 2^-17 suffice.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_bf16.h>

namespace kgen_softmax_short {

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

// max(a, b); NaN if either is, and -0.0 < +0.0.
static __device__ __forceinline__ float nan_max(float a, float b)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    float result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
#else
    if (a == b) return __int_as_float(__float_as_int(a) & __float_as_int(b));
    return a > b || a != a ? a : b;
#endif
}

// The lower bound of a type: -inf, or the smallest integer.
template <typename T>
static __device__ __forceinline__ T lowest()
{
    const bool is_float = (T)0.5 != 0, is_signed = (T)-1 < (T)0;
    return is_float ? (T)__int_as_float(0xff800000) : is_signed ? (T)(1ull << (8 * sizeof(T) - 1)) : (T)0;
}

// exp(x) as a term of a sum whose largest term is 1: the relative error grows with -x, but the term shrinks.
static __device__ __forceinline__ float exp_approx(float x)
{
#if defined(__CUDA_ARCH__)
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x * 1.442695041f));
    return result;
#else
    return expf(x);
#endif
}

// 2^24 exp(x) for x <= 0: the scale avoids underflow.  The relative error of 2^-17 is below the rounding of a
// quotient to 16 bits.
static __device__ __forceinline__ float exp_scaled_2_24(float x)
{
#if defined(__CUDA_ARCH__)
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(fmaf(x, 1.442695041f, 24.0f)));
    return result;
#else
    return 0x1p24f * expf(x);
#endif
}

// Reads the rows of a block into shared memory: `count` elements, then zeros up to `size`.  Each thread issues all of
// its Each loads before it stores the first.
template <int Block, int Each, typename Access, typename T>
static __device__ __forceinline__ void load_rows(T* shared, const T* rows, int count, int size)
{
    constexpr int N = sizeof(Access) / sizeof(T);
    if (count < size) {  // the last block
        for (int i = threadIdx.x; i < size; i += Block) {
            shared[i] = i < count ? rows[i] : T{};
        }
        return;
    }
    Access some[Each];
    #pragma unroll
    for (int u = 0; u < Each; ++u) {
        const int i = N * (u * Block + threadIdx.x);
        if (i < size) {
            some[u] = *reinterpret_cast<const Access*>(rows + i);
        }
    }
    #pragma unroll
    for (int u = 0; u < Each; ++u) {
        const int i = N * (u * Block + threadIdx.x);
        if (i < size) {
            *reinterpret_cast<Access*>(shared + i) = some[u];
        }
    }
}

// Writes the results of a block's rows from shared memory.
template <int Block, typename Access, typename T>
static __device__ __forceinline__ void store_rows(T* rows, const T* shared, int count)
{
    constexpr int N = sizeof(Access) / sizeof(T);
    #pragma unroll 4
    for (int i = N * threadIdx.x; i <= count - N; i += N * Block) {
        *reinterpret_cast<Access*>(rows + i) = *reinterpret_cast<const Access*>(shared + i);
    }
    if (threadIdx.x < count % N) {  // the rest: only the last block's count is no multiple of N
        const int i = count - 1 - threadIdx.x;
        rows[i] = shared[i];
    }
}

// The maximum of some floats; NaN if any is.
template <typename T>
struct Max {
    T value;

    static __device__ __forceinline__ Max identity() { return {lowest<T>()}; }

    __device__ __forceinline__ void add(T x) { value = nan_max(value, x); }
    __device__ __forceinline__ void merge(const Max& other) { value = nan_max(value, other.value); }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ Max shuffle_xor(int d) const { return {__shfl_xor_sync(0xffffffffu, value, d)}; }

    __device__ __forceinline__ T result() const { return value; }
};

// A sum of floats, or of their squares.
template <typename T>
struct Sum {
    T sum;

    static __device__ __forceinline__ Sum identity() { return {0}; }

    __device__ __forceinline__ void add(T x) { sum += x; }
    __device__ __forceinline__ void add_square(T x) { sum += x * x; }
    __device__ __forceinline__ void merge(const Sum& other) { sum += other.sum; }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ Sum shuffle_xor(int d) const { return {__shfl_xor_sync(0xffffffffu, sum, d)}; }

    __device__ __forceinline__ T result() const { return sum; }
    __device__ __forceinline__ T norm() const { return sqrt(sum); }

    template <typename Count>
    __device__ __forceinline__ T mean(Count count) const { return sum / (T)count; }
};

// Accumulates one element into m.
static __device__ __forceinline__ void
softmax_short_pass1(const __nv_bfloat16 x_v, Max<float>& m_acc)
{
    // let m = max(x, axis=-1, keepdims=true)
    m_acc.add(__bfloat162float(x_v));
}

// Accumulates one element into sum.
static __device__ __forceinline__ void
softmax_short_pass2(const __nv_bfloat16 x_v, const float m_v, Sum<float>& sum_acc)
{
    // y = e / sum(e, axis=-1, keepdims=true)
    sum_acc.add(exp_approx(__bfloat162float(x_v) - m_v));
}

// One element of y.
static __device__ __forceinline__ void
softmax_short_element(const __nv_bfloat16 x_v,
                      const float m_v,
                      const float sum_reciprocal,
                      __nv_bfloat16& y_v)
{
    // let e = exp(x - m)
    const float e_v = exp_scaled_2_24(__bfloat162float(x_v) - m_v);
    // y = e / sum(e, axis=-1, keepdims=true)
    y_v = __float2bfloat16_rn(e_v * sum_reciprocal);
}

// Where the rows lie; strides and steps in elements.
struct softmax_short_reduce_regs7_staged_layout {
    int width;  // elements of a row
};

// Rows of 7 elements, kept in registers: 1024 rows a block, one thread a row.
// Launch: ceil(n / 1024) blocks of 256 threads, for n rows.
// Limits: fewer than 2^31 rows, and every place within a row, in bytes, below 2^31.
// Contiguous rows, staged through shared memory: y and x.
// Aligned to 16 bytes: y and x.
// No other operand may overlap y in memory.
extern "C" __global__ void __launch_bounds__(256)
softmax_short_reduce_regs7_staged(const __nv_bfloat16* x_ptr,
                                  __nv_bfloat16* __restrict__ y_ptr,
                                  const softmax_short_reduce_regs7_staged_layout layout,
                                  const unsigned int n)
{
    alignas(16) __shared__ __nv_bfloat16 x_shared[7168];
    const unsigned int first_row = blockIdx.x * 1024u;  // of this block
    const int elements = (int)min(1024u, n - first_row) * layout.width;  // of this block's rows
    wait_for_earlier_kernels();
    load_rows<256, 4, uint4>(x_shared, x_ptr + (long long)first_row * layout.width, elements, 1024 * 7);
    __syncthreads();

    for (int local_row = threadIdx.x; local_row < 1024; local_row += 256) {
        __nv_bfloat16* const y_row = x_shared + local_row * 7;
        const __nv_bfloat16* const x_row = x_shared + local_row * 7;

        __nv_bfloat16 x_in[7];
        #pragma unroll
        for (int v = 0; v < 7; ++v) {
            x_in[v] = x_row[v];
        }

        auto m_acc = Max<float>::identity();
        #pragma unroll
        for (int v = 0; v < 7; ++v) {
            softmax_short_pass1(x_in[v], m_acc);
        }
        const float m_v = m_acc.result();

        auto sum_acc = Sum<float>::identity();
        #pragma unroll
        for (int v = 0; v < 7; ++v) {
            auto sum_part = Sum<float>::identity();
            softmax_short_pass2(x_in[v], m_v, sum_part);
            sum_acc.merge(sum_part);
        }
        const float sum_v = sum_acc.result();
        const float sum_reciprocal = 0x1p-24f / sum_v;

        #pragma unroll
        for (int v = 0; v < 7; ++v) {
            softmax_short_element(x_in[v], m_v, sum_reciprocal, y_row[v]);
        }
    }

    __syncthreads();
    store_rows<256, uint4>(y_ptr + (long long)first_row * layout.width, x_shared, elements);
    let_next_kernel_start();
}

}  // namespace kgen_softmax_short
