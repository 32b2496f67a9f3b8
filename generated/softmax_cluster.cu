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
// Chosen: rows: clusters of 8 blocks of 256 threads share a row of 131072 elements and keep it in registers, 64 elements each: one pass over memory.
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

// Reads 16 bytes with the L2 policy evict_last, so that L2 evicts written lines first.
template <typename T>
static __device__ __forceinline__ T load_evict_last(const void* from)
{
    static_assert(sizeof(T) == 16, "one access");
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
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
    long long y_stride[1];  // of y and x
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
    __nv_bfloat16* const y_row = y_ptr + row * layout.y_stride[0];
    const __nv_bfloat16* const x_row = x_ptr + row * layout.y_stride[0];
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
            x_vec[v] = load_evict_last<Pack<__nv_bfloat16, 8, 16>>(x_row + i);
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
    for (int w = 32; w < 64; w += 32) {
        exp_sum_acc.merge(exp_sum_warp_partials[w + threadIdx.x % 32]);
    }
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
