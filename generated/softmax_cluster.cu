// Made by kgen 0.1.0 from softmax.k. Do not edit; remake it with
//     kgen compile softmax.k -o softmax_cluster.cu --dtype x=bf16 --shape x=2048x131072 --name softmax_cluster --arch sm_90
//
//     # Softmax over the last axis: three lines, one kernel.
//     let m = max(x, axis=-1, keepdims=true)
//     let e = exp(x - m)
//     y = e / sum(e, axis=-1, keepdims=true)
//
// Inputs:  x: bfloat16
// Outputs: y: bfloat16
//
// Chosen: rows: clusters of 8 blocks of 256 threads share a row of 131072 elements
//         and keep it in registers, 64 elements each: one pass over memory.
// Chosen: L2: more is read than it holds, so loads are evict-last: what is written is evicted first.
// Chosen: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Chosen: online: sums of exponentials are relative to the greatest so far, so that no round waits for the maximum.
// Chosen: quotients by a sum are rounded to 16 bits or fewer, so exponentials with an error of 2^-17 suffice.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_bf16.h>

namespace kgen_softmax_cluster {

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

// Arrives at an mbarrier, whose current phase then waits for `bytes` bytes.  One thread calls it.
static __device__ __forceinline__ void mbarrier_expect(unsigned long long& arrived, unsigned int bytes)
{
    const unsigned int at = (unsigned int)__cvta_generic_to_shared(&arrived);
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at), "r"(bytes) : "memory");
}

// Initialises an mbarrier whose first phase waits for `bytes` bytes from blocks of the cluster.  One thread calls it,
// before any block sends.
static __device__ __forceinline__ void mbarrier_init_expect(unsigned long long& arrived, unsigned int bytes)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#error "thread-block clusters need sm_90 or later: leave --arch out for a file that runs everywhere"
#endif
    const unsigned int at = (unsigned int)__cvta_generic_to_shared(&arrived);
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    mbarrier_expect(arrived, bytes);
}

// Writes to the same shared variable of block `rank` of the cluster, and counts the bytes on that block's mbarrier.
template <typename T>
static __device__ __forceinline__ void send_to_block(T& slot, T value, unsigned long long& arrived, unsigned int rank)
{
    static_assert(sizeof(T) % 4 == 0, "whole words are written");
    unsigned int words[sizeof(T) / 4], to, count;
    memcpy(words, &value, sizeof(T));
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(to) : "r"((unsigned int)__cvta_generic_to_shared(&slot)), "r"(rank));
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(count) : "r"((unsigned int)__cvta_generic_to_shared(&arrived)), "r"(rank));
    #pragma unroll
    for (int w = 0; w < (int)sizeof(T) / 4; ++w) {
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
                     :: "r"(to + 4 * w), "r"(words[w]), "r"(count) : "memory");
    }
}

// Waits until all bytes of this phase of this block's mbarrier have arrived.
// parity: the number of the phase, modulo 2.
static __device__ __forceinline__ void mbarrier_wait(unsigned long long& arrived, unsigned int parity)
{
    const unsigned int at = (unsigned int)__cvta_generic_to_shared(&arrived);
    unsigned int done = 0;
    while (!done) {
        asm volatile("{\n"
                     ".reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n"
                     "}" : "=r"(done) : "r"(at), "r"(parity) : "memory");
    }
}

// Makes a group opaque to the compiler, so that elements stay packed in words until they are used: in half the
// registers, or fewer.
template <typename T, int N, int Bytes>
static __device__ __forceinline__ void keep_packed([[maybe_unused]] Pack<T, N, Bytes>& x)
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

// An L2 policy for loads: what they read is evicted last, so L2 evicts written lines first.  Create it once per thread,
// ahead of the loads: a branch that creates it is not replaced by a predicate, and the load in it is issued late.
static __device__ __forceinline__ unsigned long long evict_last_policy()
{
    unsigned long long policy = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
#endif
    return policy;
}

// Reads 16 bytes with an L2 policy.
template <typename T>
static __device__ __forceinline__ T load_evict_last(const void* from, [[maybe_unused]] unsigned long long policy)
{
    static_assert(sizeof(T) == 16, "one access");
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    uint4 words;
    asm volatile("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
                 : "l"(__cvta_generic_to_global(from)), "l"(policy));
    T result;
    memcpy(&result, &words, sizeof(T));
    return result;
#else
    return *reinterpret_cast<const T*>(from);
#endif
}

// The maximum of some elements (peak), and the sum of exp(element - peak).
template <typename T>
struct LogSum {
    T peak, sum;

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

    // The sum of exp(element - peak); NaN where the peak is infinite.
    __device__ __forceinline__ T exp_sum() const { return sum + (peak - peak); }
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
};

// The sum of exp(element - peak), where a first step has computed the peak.
template <typename T>
struct Exponentials {
    T peak, sum;

    static __device__ __forceinline__ Exponentials of(const Max<T>& greatest) { return {greatest.value, 0}; }

    // The initial state of a group of the same elements.
    __device__ __forceinline__ Exponentials part() const { return {peak, 0}; }

    // Relative to 0 where the peak is infinite.
    __device__ __forceinline__ void add(T x) { sum += exp_approx(x - (isinf(peak) ? 0 : peak)); }
    __device__ __forceinline__ void merge(const Exponentials& other) { sum += other.sum; }

    // The state of thread `thread ^ d`, which has the same peak.
    __device__ __forceinline__ Exponentials shuffle_xor(int d) const
    {
        return {peak, __shfl_xor_sync(0xffffffffu, sum, d)};
    }

    __device__ __forceinline__ LogSum<T> log_sum() const { return {peak, sum}; }
};

// Accumulates one element into exp_sum.
static __device__ __forceinline__ void
softmax_cluster_pass(const __nv_bfloat16 x_v, Exponentials<float>& exp_sum_acc)
{
    // y = e / sum(e, axis=-1, keepdims=true)
    exp_sum_acc.add(to_float(x_v));
}

// One element of y.
static __device__ __forceinline__ void
softmax_cluster_element(const __nv_bfloat16 x_v,
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
struct softmax_cluster_reduce_regs131072_cluster_layout {
    long long y_stride;  // of y and x
    int width;  // elements of a row
};

// Rows of 114689 to 131072 elements, kept in registers: a cluster of 8 blocks a row (sm_90 and CUDA 12.1, or later).
// Launch: 8 blocks of 256 threads for each row.
// Limits: fewer than 2^31 rows, and every place within a row, in bytes, below 2^31.
// Alignment, in bytes: 16 for y and x.
// Vector accesses: row widths and row strides are multiples of 8 elements.
// No other operand may overlap y in memory.
extern "C" __global__ void __cluster_dims__(8, 1, 1) __launch_bounds__(256)
softmax_cluster_reduce_regs131072_cluster(const __nv_bfloat16* x_ptr,
                                          __nv_bfloat16* __restrict__ y_ptr,
                                          const softmax_cluster_reduce_regs131072_cluster_layout layout)
{
    const unsigned int rank = blockIdx.x % 8;  // of the block in its cluster
    const int thread = rank * 256 + threadIdx.x;
    const unsigned int row = blockIdx.x / 8;
    __nv_bfloat16* const y_row = y_ptr + row * layout.y_stride;
    const __nv_bfloat16* const x_row = x_ptr + row * layout.y_stride;
    const unsigned long long policy = evict_last_policy();
    __shared__ LogSum<float> exp_sum_warp_partials[64];
    __shared__ unsigned long long arrived;
    if (threadIdx.x == 0) {
        mbarrier_init_expect(arrived, 64 * sizeof(LogSum<float>));
    }
    __cluster_barrier_arrive_relaxed();
    wait_for_earlier_kernels();

    Pack<__nv_bfloat16, 8, 16> x_vec[8];
    #pragma unroll
    for (int v = 0; v < 8; ++v) {
        const int i = 8 * (v * 2048 + thread);
        if (i < layout.width) {
            x_vec[v] = load_evict_last<Pack<__nv_bfloat16, 8, 16>>(x_row + i, policy);
        }
    }

    auto exp_sum_peak = Max<float>::identity();
    #pragma unroll
    for (int v = 0; v < 8; ++v) {
        const int i = 8 * (v * 2048 + thread);
        if (v < 7 || i < layout.width) {
            keep_packed(x_vec[v]);
            exp_sum_peak.add(group_max(x_vec[v]));
        }
    }
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        exp_sum_peak.merge(exp_sum_peak.shuffle_xor(d));
    }

    auto exp_sum_terms = Exponentials<float>::of(exp_sum_peak);
    #pragma unroll
    for (int v = 0; v < 8; ++v) {
        const int i = 8 * (v * 2048 + thread);
        if (v < 7 || i < layout.width) {
            keep_packed(x_vec[v]);
            auto exp_sum_part = exp_sum_terms.part();
            #pragma unroll
            for (int j = 0; j < 8; ++j) {
                softmax_cluster_pass(extract(x_vec[v], j), exp_sum_part);
            }
            exp_sum_terms.merge(exp_sum_part);
        }
    }
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        exp_sum_terms.merge(exp_sum_terms.shuffle_xor(d));
    }
    auto exp_sum_acc = exp_sum_terms.log_sum();
    __cluster_barrier_wait();  // all blocks have initialised their mbarriers
    if (threadIdx.x % 32 < 8) {  // each warp sends its state to every block
        send_to_block(exp_sum_warp_partials[rank * 8 + threadIdx.x / 32], exp_sum_acc, arrived, threadIdx.x % 32);
    }
    mbarrier_wait(arrived, 0);
    exp_sum_acc = exp_sum_warp_partials[threadIdx.x % 32];
    exp_sum_acc.merge(exp_sum_warp_partials[32 + threadIdx.x % 32]);
    exp_sum_acc.merge_lanes<32>();
    const float m_v = exp_sum_acc.peak;
    const float exp_sum_v = exp_sum_acc.exp_sum();
    const float exp_sum_reciprocal = 0x1p-24f / exp_sum_v;

    #pragma unroll
    for (int v = 0; v < 8; ++v) {
        const int i = 8 * (v * 2048 + thread);
        if (v < 7 || i < layout.width) {
            keep_packed(x_vec[v]);
            Pack<__nv_bfloat16, 8, 16> y_vec;
            #pragma unroll
            for (int j = 0; j < 8; ++j) {
                softmax_cluster_element(extract(x_vec[v], j), m_v, exp_sum_reciprocal, y_vec.at[j]);
            }
            *reinterpret_cast<Pack<__nv_bfloat16, 8, 16>*>(y_row + i) = y_vec;
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_softmax_cluster

// --- Host code: checks the arrays of a call, decides among the kernels above, and launches them. ---

#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)

#include <cuda_runtime.h>
#include <stdio.h>
#include <initializer_list>

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

#define KGEN_BFLOAT16 {4, 16, 1}

namespace kgen_softmax_cluster {

// The dimensions that a kernel walks, the fastest first, and the strides of its accesses along them.
constexpr int ACCESSES = 2;
struct Space {
    int rank;
    long long shape[8];
    long long strides[ACCESSES][8];
};

// Kernels that move whole vectors take arrays at multiples of so many bytes.
constexpr int ALIGNMENT = 16;

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

// Checks that an array has the shape and the strides that the kernels are for.
static int check_layout(const Array& array, int number, std::initializer_list<long long> shape,
                        std::initializer_list<long long> strides)
{
    for (int i = 0; i < array.rank; ++i) {
        if (array.shape[i] != shape.begin()[i]) return status_of(KGEN_BAD_SHAPE, number);
    }
    for (int i = 0; i < array.rank; ++i) {
        const bool is_used = array.shape[i] > 1 && array.size > 0;
        if (is_used && array.strides[i] != strides.begin()[i]) return status_of(KGEN_NOT_COVERED, number);
    }
    return KGEN_SUCCESS;
}

// Marks those of some arrays that are not aligned, by a null pointer: kernels take copies of them.
static int mark_unaligned(Array* arrays, const Operand* operands, std::initializer_list<int> numbers)
{
    for (const int i : numbers) {
        Array& array = arrays[i];
        if (array.address % ALIGNMENT == 0) continue;
        const bool has_gaps = array.last - array.first + 1 != static_cast<uintptr_t>(array.size * array.itemsize);
        if (array.address != array.first || (has_gaps && operands[i].is_written)) {
            return status_of(KGEN_NOT_COVERED, i + 1);
        }
        array.address = 0;
    }
    return KGEN_SUCCESS;
}

// The memory that copies of the marked arrays take.
static size_t bytes_of_copies(const Array* arrays, int count)
{
    size_t bytes = 0;
    for (int i = 0; i < count; ++i) {
        const bool is_marked = arrays[i].size > 0 && arrays[i].address == 0;
        bytes += is_marked ? (arrays[i].last - arrays[i].first + 256) / 256 * 256 : 0;
    }
    return bytes;
}

static int copy_array(uintptr_t to, uintptr_t from, const Array& array, cudaStream_t stream)
{
    return -static_cast<int>(cudaMemcpyAsync(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from),
                                             array.last - array.first + 1, cudaMemcpyDeviceToDevice, stream));
}

// Copies the marked arrays to memory, one behind another, and moves its start behind them.
static int copy_unaligned(Array* arrays, int count, char** memory, cudaStream_t stream)
{
    for (int i = 0; i < count; ++i) {
        const size_t bytes = bytes_of_copies(&arrays[i], 1);
        if (bytes == 0) continue;
        arrays[i].address = reinterpret_cast<uintptr_t>(*memory);
        *memory += bytes;
        if (const int status = copy_array(arrays[i].address, arrays[i].first, arrays[i], stream)) return status;
    }
    return KGEN_SUCCESS;
}

// Copies results back.
static int copy_back(const Array* arrays, const Operand* operands, int count, cudaStream_t stream)
{
    for (int i = 0; i < count; ++i) {
        const Array& array = arrays[i];
        const bool is_copied = array.size > 0 && (array.address < array.first || array.address > array.last);
        if (!operands[i].is_written || !is_copied) continue;
        if (const int status = copy_array(array.first, array.address, array, stream)) return status;
    }
    return KGEN_SUCCESS;
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

static int check_workspace(void* workspace, size_t bytes, size_t needed)
{
    if (needed > 0 && (workspace == nullptr || bytes < needed)) return KGEN_SMALL_WORKSPACE;
    return reinterpret_cast<uintptr_t>(workspace) % 256 == 0 ? KGEN_SUCCESS : KGEN_MISALIGNED;
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
    const __nv_bfloat16* x_ptr;
    __nv_bfloat16* y_ptr;
    cudaStream_t stream;
};

static int launch_softmax_cluster_reduce_regs131072_cluster(const Arguments& a, const Space& space)
{
    const long long* const shape = space.shape;
    const auto& strides = space.strides;
    const long long rows = shape[1];
    const long long width = shape[0];
    const long long row_blocks = rows * 8;
    const softmax_cluster_reduce_regs131072_cluster_layout layout = {
        (shape[1] != 1) ? strides[0][1] : 0,
        (int)width,
    };
    return launch(softmax_cluster_reduce_regs131072_cluster, row_blocks, 1, 256, true, a.stream,
                  a.x_ptr, a.y_ptr, layout);
}

const Operand OPERANDS[] = {
    {"x", KGEN_BFLOAT16, 2, false},
    {"y", KGEN_BFLOAT16, 2, true},
};

// What a call launches for one kernel of the program: nothing where there is nothing to compute.
struct Choice {
    int (*launch)(const Arguments&, const Space&);
    Space space;
};

// Checks the arrays, and that they have the layouts that the kernels are for, and decides on the kernels.
static int decide(const kgen_array* const* given, Array* arrays, Choice* choices)
{
    int status = read_arrays(given, OPERANDS, 2, arrays);
    if (status == KGEN_SUCCESS) status = check_layout(arrays[0], 1, {2048, 131072}, {131072, 1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[1], 2, {2048, 131072}, {131072, 1});
    if (status != KGEN_SUCCESS || arrays[1].size == 0) return status;
    choices[0].launch = launch_softmax_cluster_reduce_regs131072_cluster;
    choices[0].space = {2, {131072, 2048}, {{1, 131072}, {1, 131072}}};
    return mark_unaligned(arrays, OPERANDS, {0, 1});
}

// The bytes of a call: copies of unaligned arrays, buffers between kernels, then scratch memory, which these share.
static size_t workspace_of(const Array* arrays)
{
    return bytes_of_copies(arrays, 2);
}

}  // namespace kgen_softmax_cluster

extern "C" int softmax_cluster_launch(const kgen_array* x_array,
                                      const kgen_array* y_array,
                                      void* workspace,
                                      size_t workspace_bytes,
                                      cudaStream_t stream)
{
    using namespace kgen_softmax_cluster;
    const kgen_array* const given[] = {x_array, y_array};
    Array arrays[2];
    Choice choices[1] = {};
    int status = decide(given, arrays, choices);
    if (status == KGEN_SUCCESS) {
        status = check_workspace(workspace, workspace_bytes, workspace_of(arrays));
    }
    if (status != KGEN_SUCCESS) return status;
    char* memory = static_cast<char*>(workspace);
    status = copy_unaligned(arrays, 2, &memory, stream);
    if (status != KGEN_SUCCESS) return status;
    const Arguments a = {
        reinterpret_cast<const __nv_bfloat16*>(arrays[0].address),
        reinterpret_cast<__nv_bfloat16*>(arrays[1].address),
        stream,
    };
    for (const Choice& choice : choices) {
        if (status == KGEN_SUCCESS && choice.launch != nullptr) status = choice.launch(a, choice.space);
    }
    if (status == KGEN_SUCCESS) status = copy_back(arrays, OPERANDS, 2, stream);
    return status;
}

extern "C" int softmax_cluster_workspace_size(const kgen_array* x_array,
                                              const kgen_array* y_array,
                                              size_t* bytes)
{
    using namespace kgen_softmax_cluster;
    const kgen_array* const given[] = {x_array, y_array};
    Array arrays[2];
    Choice choices[1] = {};
    const int status = decide(given, arrays, choices);
    *bytes = status == KGEN_SUCCESS ? workspace_of(arrays) : 0;
    return status;
}

extern "C" const char* softmax_cluster_error_string(int status)
{
    using namespace kgen_softmax_cluster;
    return message_of(status, OPERANDS, 2);
}

#endif
