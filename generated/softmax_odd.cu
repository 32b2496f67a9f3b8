// Made by kgen 0.1.0 from softmax.k. Do not edit; remake it with
//     kgen compile softmax.k -o softmax_odd.cu --dtype x=bf16 --shape x=4096x1001 --name softmax_odd
//
//     # Softmax over the last axis: three lines, one kernel.
//     let m = max(x, axis=-1, keepdims=true)
//     let e = exp(x - m)
//     y = e / sum(e, axis=-1, keepdims=true)
//
// Inputs:  x: bfloat16
// Outputs: y: bfloat16
//
// Chosen: rows: 32 threads share a row of 1001 elements and keep it in registers, 32 elements each: one pass over memory.
// Chosen: peeled: rows begin or end between 16-byte accesses, so elements there are taken one by one.
// Chosen: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Chosen: quotients by a sum are rounded to 16 bits or fewer, so exponentials with an error of 2^-17 suffice.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_bf16.h>

namespace kgen_softmax_odd {

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

// Converts bfloat16 to float by a shift, which the compiler can fold; __bfloat162float is inline assembly.
static __device__ __forceinline__ float to_float(__nv_bfloat16 x)
{
    const unsigned int upper = __bfloat16_as_ushort(x);
    return __uint_as_float(upper << 16);
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

// The maximum of a group, two elements at a time; NaN if any is.
template <int N, int Bytes>
static __device__ __forceinline__ float group_max(const Pack<__nv_bfloat16, N, Bytes>& x)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    __nv_bfloat162 both = __halves2bfloat162(x.at[0], x.at[1]);
    #pragma unroll
    for (int j = 2; j < N; j += 2) {
        both = __hmax2_nan(both, __halves2bfloat162(x.at[j], x.at[j + 1]));
    }
    return nan_max(__low2float(both), __high2float(both));
#else
    float one = __bfloat162float(x.at[0]);
    for (int j = 1; j < N; ++j) {
        one = nan_max(one, __bfloat162float(x.at[j]));
    }
    return one;
#endif
}

// Makes a group opaque to the compiler, so that elements stay packed in words until they are used: in half the
// registers, or fewer.
template <typename T, int N, int Bytes>
static __device__ __forceinline__ void keep_packed(Pack<T, N, Bytes>& x)
{
#if defined(__CUDA_ARCH__)
    unsigned int* const words = reinterpret_cast<unsigned int*>(&x);
    #pragma unroll
    for (int w = 0; w < N * (int)sizeof(T) / 4; ++w) {
        asm("" : "+r"(words[w]));
    }
#endif
}

// Element j of a group, extracted from its 32-bit word by one instruction.
template <int N, int Bytes>
static __device__ __forceinline__ __nv_bfloat16 extract(const Pack<__nv_bfloat16, N, Bytes>& x, int j)
{
    unsigned int word;
    memcpy(&word, &x.at[j / 2 * 2], sizeof(word));
    return __ushort_as_bfloat16(word >> 16 * (j % 2));
}

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

// Accumulates one element into sum.
static __device__ __forceinline__ void
softmax_odd_pass2(const __nv_bfloat16 x_v, const float m_v, Sum<float>& sum_acc)
{
    // y = e / sum(e, axis=-1, keepdims=true)
    sum_acc.add(exp_approx(to_float(x_v) - m_v));
}

// One element of y.
static __device__ __forceinline__ void
softmax_odd_element(const __nv_bfloat16 x_v,
                    const float m_v,
                    const float sum_reciprocal,
                    __nv_bfloat16& y_v)
{
    // let e = exp(x - m)
    const float e_v = exp_scaled_2_24(to_float(x_v) - m_v);
    // y = e / sum(e, axis=-1, keepdims=true)
    y_v = __float2bfloat16_rn(e_v * sum_reciprocal);
}

// Where the rows lie; strides and steps in elements.
struct softmax_odd_reduce_regs1024_peeled_layout {
    long long y_stride[1];  // of y and x
    int width;  // elements of a row
};

// Rows of up to 1031 elements, kept in registers: 2 rows a block, 32 threads a row.
// Launch: ceil(n / 2) blocks of 64 threads, for n rows.
// Limits: fewer than 2^31 rows, and every place within a row, in bytes, below 2^31.
// Groups begin at multiples of 16 bytes in y; x must be aligned there as well.
// No other operand may overlap y in memory.
extern "C" __global__ void __launch_bounds__(64)
softmax_odd_reduce_regs1024_peeled(const __nv_bfloat16* x_ptr,
                                   __nv_bfloat16* __restrict__ y_ptr,
                                   const softmax_odd_reduce_regs1024_peeled_layout layout,
                                   const unsigned int n)
{
    const int thread = threadIdx.x % 32;
    const bool live = blockIdx.x * 2u + threadIdx.x / 32 < n;  // the last block may have fewer rows
    const unsigned int row = live ? blockIdx.x * 2u + threadIdx.x / 32 : 0;
    const int width = live ? layout.width : 0;
    __nv_bfloat16* const y_row = y_ptr + row * layout.y_stride[0];
    const __nv_bfloat16* const x_row = x_ptr + row * layout.y_stride[0];
    // Groups begin at multiples of 16 bytes in y; the edge elements around them are accessed one by one.
    const int head = min((int)(-reinterpret_cast<unsigned long long>(y_row) / 2 % 8), width);
    const int end = width - (width - head) % 8;
    const int edges = head + width - end;
    const int e = thread < head ? thread : end + thread - head;
    wait_for_earlier_kernels();

    Pack<__nv_bfloat16, 8, 16> x_vec[4];
    __nv_bfloat16 x_in;
    #pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = head + 8 * (v * 32 + thread);
        if (i < end) {
            x_vec[v] = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(x_row + i);
        }
    }
    if (thread < edges) {
        x_in = x_row[e];
    }

    auto m_acc = Max<float>::identity();
    #pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = head + 8 * (v * 32 + thread);
        if (i < end) {
            keep_packed(x_vec[v]);
            m_acc.add(group_max(x_vec[v]));
        }
    }
    if (thread < edges) {
        m_acc.add((float)x_in);
    }
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        m_acc.merge(m_acc.shuffle_xor(d));
    }
    const float m_v = m_acc.result();

    auto sum_acc = Sum<float>::identity();
    #pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = head + 8 * (v * 32 + thread);
        if (i < end) {
            keep_packed(x_vec[v]);
            auto sum_part = Sum<float>::identity();
            #pragma unroll
            for (int j = 0; j < 8; ++j) {
                softmax_odd_pass2(extract(x_vec[v], j), m_v, sum_part);
            }
            sum_acc.merge(sum_part);
        }
    }
    if (thread < edges) {
        auto sum_part = Sum<float>::identity();
        softmax_odd_pass2(x_in, m_v, sum_part);
        sum_acc.merge(sum_part);
    }
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        sum_acc.merge(sum_acc.shuffle_xor(d));
    }
    const float sum_v = sum_acc.result();
    const float sum_reciprocal = 0x1p-24f / sum_v;

    #pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = head + 8 * (v * 32 + thread);
        if (i < end) {
            keep_packed(x_vec[v]);
            Pack<__nv_bfloat16, 8, 16> y_vec;
            #pragma unroll
            for (int j = 0; j < 8; ++j) {
                softmax_odd_element(extract(x_vec[v], j), m_v, sum_reciprocal, y_vec.at[j]);
            }
            *reinterpret_cast<Pack<__nv_bfloat16, 8, 16>*>(y_row + i) = y_vec;
        }
    }
    if (thread < edges) {
        softmax_odd_element(x_in, m_v, sum_reciprocal, y_row[e]);
    }
}

}  // namespace kgen_softmax_odd
