// Made by kgen 0.1.0 from softmax.k. Do not edit; remake it with
//     kgen compile softmax.k -o softmax_long.cu --dtype x=bf16 --shape 'x=?x?' --name softmax_long
//
//     # Softmax over the last axis: three lines, one kernel.
//     let m = max(x, axis=-1, keepdims=true)
//     let e = exp(x - m)
//     y = e / sum(e, axis=-1, keepdims=true)
//
// Inputs:  x: bfloat16
// Outputs: y: bfloat16
//
// Chosen: rows of any length: 512 threads share a row, read again for each round of reductions.
// Chosen: peeled: rows may begin or end between 16-byte accesses, so elements there are taken one by one.
// Chosen: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Chosen: online: sums of exponentials are relative to the greatest so far, so that no round waits for the maximum.
// Chosen: quotients by a sum are rounded to 16 bits or fewer, so exponentials with an error of 2^-17 suffice.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_bf16.h>

namespace kgen_softmax_long {

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

// Converts bfloat16 to float by a shift, which the compiler can fold; __bfloat162float is inline assembly.
static __device__ __forceinline__ float to_float(__nv_bfloat16 x)
{
    const unsigned int upper = __bfloat16_as_ushort(x);
    return __uint_as_float(upper << 16);
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

// The lower bound of a type: -inf, or the smallest integer.
template <typename T>
static __device__ __forceinline__ T lowest()
{
    const bool is_float = (T)0.5 != 0, is_signed = (T)-1 < (T)0;
    return is_float ? (T)__int_as_float(0xff800000) : is_signed ? (T)(1ull << (8 * sizeof(T) - 1)) : (T)0;
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

// Element j of a group, extracted from its 32-bit word by one instruction.
template <int N, int Bytes>
static __device__ __forceinline__ __nv_bfloat16 extract(const Pack<__nv_bfloat16, N, Bytes>& x, int j)
{
    unsigned int word;
    memcpy(&word, &x.at[j / 2 * 2], sizeof(word));
    return __ushort_as_bfloat16(word >> 16 * (j % 2));
}

// The maximum of some elements (peak), and the sum of exp(element - peak).
template <typename T>
struct LogSum {
    T peak, sum;

    static __device__ __forceinline__ LogSum identity() { return {lowest<T>(), 0}; }

    // What exponents are relative to: the peak, or 0 where it is infinite.
    __device__ __forceinline__ T origin() const { return isinf(peak) ? 0 : peak; }

    // Adds a group of elements, relative to the maximum so far.
    template <int N>
    __device__ __forceinline__ void add(const T (&x)[N])
    {
        const T before = peak;
        #pragma unroll
        for (int j = 0; j < N; ++j) {
            peak = nan_max(peak, x[j]);
        }
        T group = 0;
        #pragma unroll
        for (int j = 0; j < N; ++j) {
            group += exp_approx(x[j] - origin());
        }
        sum = sum * exp(before - origin()) + group;
    }

    // Merges two sets of elements.  Without fma, so that either order gives the same bits.
    __device__ __forceinline__ void merge(const LogSum& other)
    {
        const T before = peak;
        peak = nan_max(peak, other.peak);
        const T mine = sum * exp(before - origin()), theirs = other.sum * exp(other.peak - origin());
        sum = sizeof(T) == 4 ? (T)__fadd_rn((float)mine, (float)theirs) : (T)__dadd_rn(mine, theirs);
    }

    // Merges the states of neighbouring lanes, with one exponential a lane instead of one a step.  The product is not
    // fused with a sum, so that all lanes get the same bits.
    template <int Lanes>
    __device__ __forceinline__ void merge_lanes()
    {
        const T before = peak;
        #pragma unroll
        for (int d = Lanes / 2; d > 0; d /= 2) {
            peak = nan_max(peak, __shfl_xor_sync(0xffffffffu, peak, d));
        }
        const T scale = exp(before - origin());
        sum = sizeof(T) == 4 ? (T)__fmul_rn((float)sum, (float)scale) : (T)__dmul_rn(sum, scale);
        #pragma unroll
        for (int d = Lanes / 2; d > 0; d /= 2) {
            sum += __shfl_xor_sync(0xffffffffu, sum, d);
        }
    }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ LogSum shuffle_xor(int d) const
    {
        return {__shfl_xor_sync(0xffffffffu, peak, d), __shfl_xor_sync(0xffffffffu, sum, d)};
    }

    __device__ __forceinline__ T result() const { return log(sum) + peak; }

    // The sum of exp(element - peak); NaN where the peak is infinite.
    __device__ __forceinline__ T exp_sum() const { return sum + (peak - peak); }
};

// What goes into exp_sum, of one element.
static __device__ __forceinline__ void
softmax_long_pass(const __nv_bfloat16 x_v, float& exp_sum_acc)
{
    // y = e / sum(e, axis=-1, keepdims=true)
    exp_sum_acc = to_float(x_v);
}

// One element of y.
static __device__ __forceinline__ void
softmax_long_element(const __nv_bfloat16 x_v,
                     const float m_v,
                     const float exp_sum_reciprocal,
                     __nv_bfloat16& y_v)
{
    // let e = exp(x - m)
    const float e_v = exp_scaled_2_24(to_float(x_v) - m_v);
    // y = e / sum(e, axis=-1, keepdims=true)
    y_v = __float2bfloat16_rn(e_v * exp_sum_reciprocal);
}

// Where the rows lie; strides and steps in elements.
struct softmax_long_reduce_long_peeled_layout {
    long long y_stride[1];  // of y and x
    int width;  // elements of a row
};

// Rows of any length, read again for each round of reductions: 512 threads a row.
// Launch: a block of 512 threads for each row.
// Limits: fewer than 2^31 rows, and every place within a row, in bytes, below 2^31 - 2^16.
// Groups begin at multiples of 16 bytes in y; x must be aligned there as well.
// No other operand may overlap y in memory.
extern "C" __global__ void __launch_bounds__(512)
softmax_long_reduce_long_peeled(const __nv_bfloat16* x_ptr,
                                __nv_bfloat16* __restrict__ y_ptr,
                                const softmax_long_reduce_long_peeled_layout layout)
{
    const int thread = threadIdx.x;
    const unsigned int row = blockIdx.x;
    __nv_bfloat16* const y_row = y_ptr + row * layout.y_stride[0];
    const __nv_bfloat16* const x_row = x_ptr + row * layout.y_stride[0];
    // Groups begin at multiples of 16 bytes in y; the edge elements around them are accessed one by one.
    const int head = min((int)(-reinterpret_cast<unsigned long long>(y_row) / 2 % 8), layout.width);
    const int end = layout.width - (layout.width - head) % 8;
    const int edges = head + layout.width - end;
    const int e = thread < head ? thread : end + thread - head;
    wait_for_earlier_kernels();

    __shared__ LogSum<float> exp_sum_warp_partials[16];
    auto exp_sum_acc = LogSum<float>::identity();
    #pragma unroll 4
    for (int i = head + 8 * thread; i < end; i += 4096) {
        const auto x_vec = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(x_row + i);
        float exp_sum_part[8];
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            softmax_long_pass(extract(x_vec, j), exp_sum_part[j]);
        }
        exp_sum_acc.add(exp_sum_part);
    }
    if (thread < edges) {
        const __nv_bfloat16 x_in = x_row[e];
        float exp_sum_part[1];
        softmax_long_pass(x_in, exp_sum_part[0]);
        exp_sum_acc.add(exp_sum_part);
    }
    exp_sum_acc.merge_lanes<32>();
    if (threadIdx.x % 32 == 0) {
        exp_sum_warp_partials[threadIdx.x / 32] = exp_sum_acc;
    }
    __syncthreads();
    exp_sum_acc = exp_sum_warp_partials[threadIdx.x % 16];
    exp_sum_acc.merge_lanes<16>();
    const float m_v = exp_sum_acc.peak;
    const float exp_sum_v = exp_sum_acc.exp_sum();
    const float exp_sum_reciprocal = 0x1p-24f / exp_sum_v;

    #pragma unroll 4
    for (int i = head + 8 * thread; i < end; i += 4096) {
        const auto x_vec = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(x_row + i);
        Pack<__nv_bfloat16, 8, 16> y_vec;
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            softmax_long_element(extract(x_vec, j), m_v, exp_sum_reciprocal, y_vec.at[j]);
        }
        *reinterpret_cast<Pack<__nv_bfloat16, 8, 16>*>(y_row + i) = y_vec;
    }
    if (thread < edges) {
        const __nv_bfloat16 x_in = x_row[e];
        softmax_long_element(x_in, m_v, exp_sum_reciprocal, y_row[e]);
    }
    let_next_kernel_start();
}

}  // namespace kgen_softmax_long
