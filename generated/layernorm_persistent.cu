// Made by kgen 0.1.0 from layernorm.k. Do not edit; remake it with
//     kgen compile layernorm.k -o layernorm_persistent.cu --dtype x=bf16,weight=bf16,bias=bf16 --shape x=2048x131072,weight=131072,bias=131072 --name layernorm_persistent --arch sm_90
//
//     # Layer normalisation over the last axis.
//     input x, weight, bias
//     param eps = 1e-5
//     let d = x - mean(x, axis=-1, keepdims=true)
//     y = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + eps) * weight + bias
//
// Inputs:  x: bfloat16, weight: bfloat16, bias: bfloat16, eps: float32 (by value)
// Outputs: y: bfloat16
//
// Chosen: rows: clusters of 8 blocks of 256 threads share a row of 131072 elements
//         and keep it in registers, 64 elements each: one pass over memory.
// Chosen: persistent: clusters take row after row, and keep one operand that all rows share in shared memory.
// Chosen: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_bf16.h>

namespace kgen_layernorm_persistent {

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

// A sum of floats, or of their squares.
template <typename T>
struct Sum {
    T sum;

    static __device__ __forceinline__ Sum identity() { return {0}; }

    __device__ __forceinline__ void add(T x) { sum += x; }
    __device__ __forceinline__ void merge(const Sum& other) { sum += other.sum; }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ Sum shuffle_xor(int d) const { return {__shfl_xor_sync(0xffffffffu, sum, d)}; }
};

// The number of some elements and their sum: the first of two steps to the moments of a warp's elements.
template <typename T>
struct Total {
    T count, sum;

    static __device__ __forceinline__ Total identity() { return {0, 0}; }

    // Adds the sum of a group of `elements` elements.
    __device__ __forceinline__ void add(const Sum<T>& group, int elements) { merge({(T)elements, group.sum}); }

    __device__ __forceinline__ void merge(const Total& other)
    {
        count += other.count;
        sum += other.sum;
    }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ Total shuffle_xor(int d) const
    {
        return {__shfl_xor_sync(0xffffffffu, count, d), __shfl_xor_sync(0xffffffffu, sum, d)};
    }
};

// The number of some elements, their mean, and the sum of their squared distances from it.
template <typename T>
struct Moments {
    T count, mean, distance;

    // Adds a group of elements, by the group's own mean.
    template <int N>
    __device__ __forceinline__ void add(const T (&x)[N])
    {
        Moments group{N, 0, 0};
        #pragma unroll
        for (int j = 0; j < N; ++j) {
            group.mean += x[j];
        }
        group.mean *= 1 / (T)N;
        #pragma unroll
        for (int j = 0; j < N; ++j) {
            group.distance += (x[j] - group.mean) * (x[j] - group.mean);
        }
        merge(group);
    }

    // Merges two sets of elements (Chan, Golub and LeVeque, 1979).  The weight may be off by 2 ulp.  There is no
    // branch, so that loads of several sets overlap.  Infinite means are added.
    __device__ __forceinline__ void merge(const Moments& other)
    {
        const T total = count + other.count, delta = other.mean - mean;
        const T quotient =
            sizeof(T) == 4 ? (T)__fdividef((float)other.count, (float)total) : other.count / total;
        const T weight = count == 0 ? 1 : quotient;
        distance += other.distance + delta * (delta * (count * weight));
        mean += isfinite(delta) ? delta * weight : other.mean;
        count = total;
    }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ Moments shuffle_xor(int d) const
    {
        return {__shfl_xor_sync(0xffffffffu, count, d), __shfl_xor_sync(0xffffffffu, mean, d),
                __shfl_xor_sync(0xffffffffu, distance, d)};
    }

    // The state of the first of Lanes lanes.  All have merged the same sets, but in different orders, so their last
    // bits differ.
    template <int Lanes>
    __device__ __forceinline__ Moments broadcast_first() const
    {
        return {count, __shfl_sync(0xffffffffu, mean, 0, Lanes), __shfl_sync(0xffffffffu, distance, 0, Lanes)};
    }

    template <typename Count>
    __device__ __forceinline__ T variance(Count elements) const { return distance / (T)elements; }
};

// The sum of squared distances from the mean, which a first step has computed: with fewer instructions than Moments,
// and more accurately.
template <typename T>
struct Distances {
    T count, mean, distance;

    static __device__ __forceinline__ Distances of(const Total<T>& all)
    {
        return {all.count, all.sum / max(all.count, (T)1), 0};
    }

    // The initial state of a group of the same elements.
    __device__ __forceinline__ Distances part() const { return {0, mean, 0}; }

    __device__ __forceinline__ void add(T x) { distance += (x - mean) * (x - mean); }
    __device__ __forceinline__ void merge(const Distances& other) { distance += other.distance; }

    // The state of thread `thread ^ d`, which has the same mean.
    __device__ __forceinline__ Distances shuffle_xor(int d) const
    {
        return {count, mean, __shfl_xor_sync(0xffffffffu, distance, d)};
    }

    __device__ __forceinline__ Moments<T> moments() const { return {count, mean, distance}; }
};

// Accumulates one element into var_total.
static __device__ __forceinline__ void
layernorm_persistent_total(const __nv_bfloat16 x_v, Sum<float>& var_total)
{
    // y = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + eps) * weight + bias
    var_total.add(to_float(x_v));
}

// Accumulates one element into var.
static __device__ __forceinline__ void
layernorm_persistent_pass(const __nv_bfloat16 x_v, Distances<float>& var_acc)
{
    // y = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + eps) * weight + bias
    var_acc.add(to_float(x_v));
}

// One element of y.
static __device__ __forceinline__ void
layernorm_persistent_element(const __nv_bfloat16 x_v,
                             const __nv_bfloat16 weight_v,
                             const __nv_bfloat16 bias_v,
                             const float mean_v,
                             const float rsqrt_v,
                             __nv_bfloat16& y_v)
{
    // let d = x - mean(x, axis=-1, keepdims=true)
    const float d_v = to_float(x_v) - mean_v;
    // y = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + eps) * weight + bias
    y_v = __float2bfloat16_rn(d_v * rsqrt_v * to_float(weight_v) + to_float(bias_v));
}

// Where the rows lie; strides and steps in elements.
struct layernorm_persistent_reduce_regs131072_persistent_layout {
    long long y_stride;  // of y and x
    int width;  // elements of a row
};

// Rows of 114689 to 131072 elements, kept in registers: a cluster of 8 blocks a row (sm_90 and CUDA 12.1, or later).
// Launch: 8 blocks of 256 threads for each cluster; `next_row_counter` is 0.
// Bound: 3 blocks an SM, which leaves L1 room for the other operands.
// Clusters: as many as fit the device (cudaOccupancyMaxActiveClusters), but no more than n, of rows.
// Limits: fewer than 2^31 rows, and every place within a row, in bytes, below 2^31.
// Alignment, in bytes: 16 for y, x, weight and bias.
// Vector accesses: row widths and row strides are multiples of 8 elements.
// No other operand may overlap y in memory.
extern "C" __global__ void __cluster_dims__(8, 1, 1) __launch_bounds__(256, 3)
layernorm_persistent_reduce_regs131072_persistent(const __nv_bfloat16* x_ptr,
                                                  const __nv_bfloat16* weight_ptr,
                                                  const __nv_bfloat16* bias_ptr,
                                                  __nv_bfloat16* __restrict__ y_ptr,
                                                  const float eps_v,
                                                  unsigned int* next_row_counter,
                                                  const layernorm_persistent_reduce_regs131072_persistent_layout layout,
                                                  const unsigned int n)
{
    const unsigned int rank = blockIdx.x % 8;  // of the block in its cluster
    const int thread = rank * 256 + threadIdx.x;
    __shared__ Moments<float> var_warp_partials[2][64];
    __shared__ unsigned long long arrived[2];
    __shared__ unsigned int next_row_smem[2];
    if (threadIdx.x == 0) {
        mbarrier_init_expect(arrived[0], 64 * sizeof(Moments<float>) + sizeof(next_row_smem[0]));
        mbarrier_init_expect(arrived[1], 64 * sizeof(Moments<float>) + sizeof(next_row_smem[0]));
    }
    __cluster_barrier_arrive_relaxed();
    wait_for_earlier_kernels();
    // The operand that all rows share.  Each thread reads only the elements that it stored: no barrier is needed.
    __shared__ Pack<__nv_bfloat16, 8, 16> weight_smem[8][256];
    #pragma unroll
    for (int v = 0; v < 8; ++v) {
        const int i = 8 * (v * 2048 + thread);
        if (v < 7 || i < layout.width) {
            weight_smem[v][threadIdx.x] = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(weight_ptr + i);
        }
    }
    __cluster_barrier_wait();  // all blocks have initialised their mbarriers

    for (unsigned int row = blockIdx.x / 8, next_row = 0, iteration = 0; row < n; row = next_row, ++iteration) {
        const unsigned int set = iteration % 2;  // of slots, for this iteration
        if (rank == 0 && threadIdx.x == 0) {
            next_row = gridDim.x / 8 + atomicInc(next_row_counter, n - 1);  // wraps to 0 for the next launch
        }
        __nv_bfloat16* const y_row = y_ptr + row * layout.y_stride;
        const __nv_bfloat16* const x_row = x_ptr + row * layout.y_stride;

        Pack<__nv_bfloat16, 8, 16> x_vec[8];
        #pragma unroll
        for (int v = 0; v < 8; ++v) {
            const int i = 8 * (v * 2048 + thread);
            if (v < 7 || i < layout.width) {
                x_vec[v] = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(x_row + i);
            }
        }

        auto var_total = Total<float>::identity();
        #pragma unroll
        for (int v = 0; v < 8; ++v) {
            const int i = 8 * (v * 2048 + thread);
            if (v < 7 || i < layout.width) {
                keep_packed(x_vec[v]);
                auto var_total_part = Sum<float>::identity();
                #pragma unroll
                for (int j = 0; j < 8; ++j) {
                    layernorm_persistent_total(extract(x_vec[v], j), var_total_part);
                }
                var_total.add(var_total_part, 8);
            }
        }
        #pragma unroll
        for (int d = 16; d > 0; d /= 2) {
            var_total.merge(var_total.shuffle_xor(d));
        }

        auto var_distances = Distances<float>::of(var_total);
        #pragma unroll
        for (int v = 0; v < 8; ++v) {
            const int i = 8 * (v * 2048 + thread);
            if (v < 7 || i < layout.width) {
                keep_packed(x_vec[v]);
                auto var_part = var_distances.part();
                #pragma unroll
                for (int j = 0; j < 8; ++j) {
                    layernorm_persistent_pass(extract(x_vec[v], j), var_part);
                }
                var_distances.merge(var_part);
            }
        }
        #pragma unroll
        for (int d = 16; d > 0; d /= 2) {
            var_distances.merge(var_distances.shuffle_xor(d));
        }
        auto var_acc = var_distances.moments();
        next_row = __shfl_sync(0xffffffffu, next_row, 0);
        if (threadIdx.x % 32 < 8) {  // each warp sends its state to every block
            send_to_block(var_warp_partials[set][rank * 8 + threadIdx.x / 32], var_acc, arrived[set], threadIdx.x % 32);
            if (rank == 0 && threadIdx.x < 32) {
                send_to_block(next_row_smem[set], next_row, arrived[set], threadIdx.x);
            }
        }
        mbarrier_wait(arrived[set], iteration / 2 % 2);
        if (threadIdx.x == 0) {
            mbarrier_expect(arrived[set], 64 * sizeof(Moments<float>) + sizeof(next_row_smem[0]));
        }
        next_row = next_row_smem[set];
        var_acc = var_warp_partials[set][threadIdx.x % 32];
        var_acc.merge(var_warp_partials[set][32 + threadIdx.x % 32]);
        #pragma unroll
        for (int d = 16; d > 0; d /= 2) {
            var_acc.merge(var_acc.shuffle_xor(d));
        }
        var_acc = var_acc.broadcast_first<32>();
        const float mean_v = var_acc.mean;
        const float var_v = var_acc.variance(layout.width);
        // y = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + eps) * weight + bias
        const float rsqrt_v = rsqrtf(var_v + eps_v);

        #pragma unroll
        for (int v = 0; v < 8; ++v) {
            const int i = 8 * (v * 2048 + thread);
            if (v < 7 || i < layout.width) {
                keep_packed(x_vec[v]);
                const auto weight_vec = weight_smem[v][threadIdx.x];
                const auto bias_vec = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(bias_ptr + i);
                Pack<__nv_bfloat16, 8, 16> y_vec;
                #pragma unroll
                for (int j = 0; j < 8; ++j) {
                    layernorm_persistent_element(extract(x_vec[v], j), extract(weight_vec, j),
                                                 extract(bias_vec, j), mean_v, rsqrt_v, y_vec.at[j]);
                }
                *reinterpret_cast<Pack<__nv_bfloat16, 8, 16>*>(y_row + i) = y_vec;
            }
        }
    }
    let_next_kernel_start();
}

// Zeroes the counters of the next kernel.
// Launch: one block of 256 threads.
extern "C" __global__ void __launch_bounds__(256)
layernorm_persistent_zero(unsigned int* counters, const long long count)
{
    wait_for_earlier_kernels();
    for (long long i = threadIdx.x; i < count; i += 256) {
        counters[i] = 0;
    }
    let_next_kernel_start();
}

}  // namespace kgen_layernorm_persistent

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

namespace kgen_layernorm_persistent {

// The dimensions that a kernel walks, the fastest first, and the strides of its accesses along them.
constexpr int ACCESSES = 4;
struct Space {
    int rank;
    long long shape[8];
    long long strides[ACCESSES][8];
};

// Kernels that move whole vectors take arrays at multiples of so many bytes.
constexpr int ALIGNMENT = 16;

static long long kgen_min(long long a, long long b) { return a < b ? a : b; }

static long long kgen_max(long long a, long long b) { return a > b ? a : b; }

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

// How many clusters of a kernel fit the device at a time.
template <typename Kernel>
static long long clusters_that_fit(Kernel& kernel, int blocks, int threads)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = blocks;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1024 * blocks);
    config.blockDim = dim3(threads);
    config.attrs = &attribute;
    config.numAttrs = 1;
    int found = 0;
    return cudaOccupancyMaxActiveClusters(&found, kernel, &config) == cudaSuccess ? found : 0;
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

// Scratch memory of a kernel, which becomes a pointer of any type.
struct Scratch {
    char* address;

    template <typename T>
    operator T*() const
    {
        return reinterpret_cast<T*>(address);
    }
};

// Counters begin at 0.  A kernel between others that start early takes less time than a memset.
template <typename Kernel>
static int zero(Kernel& kernel, const Scratch& counters, long long bytes, cudaStream_t stream)
{
    return launch(kernel, 1, 1, 256, true, stream, counters, bytes / 4);
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
    const __nv_bfloat16* weight_ptr;
    const __nv_bfloat16* bias_ptr;
    __nv_bfloat16* y_ptr;
    float eps_v;
    char* scratch;
    cudaStream_t stream;
};

static int launch_layernorm_persistent_reduce_regs131072_persistent(const Arguments& a, const Space& space)
{
    const long long* const shape = space.shape;
    const auto& strides = space.strides;
    const long long clusters = clusters_that_fit(layernorm_persistent_reduce_regs131072_persistent, 8, 256);
    const long long rows = shape[1];
    const long long width = shape[0];
    const long long row_blocks = rows * 8;
    const layernorm_persistent_reduce_regs131072_persistent_layout layout = {
        (shape[1] != 1) ? strides[0][1] : 0,
        (int)width,
    };
    const Scratch scratch1 = {a.scratch};
    if (const int status = zero(layernorm_persistent_zero, scratch1, 4, a.stream)) return status;
    return launch(layernorm_persistent_reduce_regs131072_persistent,
        kgen_min(row_blocks, kgen_max(clusters, 1) * 8), 1, 256, true, a.stream,
                  a.x_ptr, a.weight_ptr, a.bias_ptr, a.y_ptr, a.eps_v, scratch1, layout, (unsigned int)rows);
}

static long long scratch_of_layernorm_persistent_reduce_regs131072_persistent(const Space&)
{
    return 256;
}

const Operand OPERANDS[] = {
    {"x", KGEN_BFLOAT16, 2, false},
    {"weight", KGEN_BFLOAT16, 1, false},
    {"bias", KGEN_BFLOAT16, 1, false},
    {"y", KGEN_BFLOAT16, 2, true},
};

// What a call launches for one kernel of the program: nothing where there is nothing to compute.
struct Choice {
    int (*launch)(const Arguments&, const Space&);
    Space space;
    long long scratch_bytes;
};

// Checks the arrays, and that they have the layouts that the kernels are for, and decides on the kernels.
static int decide(const kgen_array* const* given, Array* arrays, Choice* choices)
{
    int status = read_arrays(given, OPERANDS, 4, arrays);
    if (status == KGEN_SUCCESS) status = check_layout(arrays[0], 1, {2048, 131072}, {131072, 1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[1], 2, {131072}, {1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[2], 3, {131072}, {1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[3], 4, {2048, 131072}, {131072, 1});
    if (status != KGEN_SUCCESS || arrays[3].size == 0) return status;
    choices[0].launch = launch_layernorm_persistent_reduce_regs131072_persistent;
    choices[0].space = {2, {131072, 2048}, {{1, 131072}, {1, 131072}, {1, 0}, {1, 0}}};
    choices[0].scratch_bytes = scratch_of_layernorm_persistent_reduce_regs131072_persistent(choices[0].space);
    return mark_unaligned(arrays, OPERANDS, {0, 1, 2, 3});
}

// The bytes of a call: copies of unaligned arrays, buffers between kernels, then scratch memory, which these share.
static size_t workspace_of(const Array* arrays, const Choice* choices)
{
    return choices[0].scratch_bytes + bytes_of_copies(arrays, 4);
}

}  // namespace kgen_layernorm_persistent

extern "C" int layernorm_persistent_launch(const kgen_array* x_array,
                                           const kgen_array* weight_array,
                                           const kgen_array* bias_array,
                                           const kgen_array* y_array,
                                           double eps_value,
                                           void* workspace,
                                           size_t workspace_bytes,
                                           cudaStream_t stream)
{
    using namespace kgen_layernorm_persistent;
    const kgen_array* const given[] = {x_array, weight_array, bias_array, y_array};
    Array arrays[4];
    Choice choices[1] = {};
    int status = decide(given, arrays, choices);
    if (status == KGEN_SUCCESS) {
        status = check_workspace(workspace, workspace_bytes, workspace_of(arrays, choices));
    }
    if (status != KGEN_SUCCESS) return status;
    char* memory = static_cast<char*>(workspace);
    status = copy_unaligned(arrays, 4, &memory, stream);
    if (status != KGEN_SUCCESS) return status;
    const Arguments a = {
        reinterpret_cast<const __nv_bfloat16*>(arrays[0].address),
        reinterpret_cast<const __nv_bfloat16*>(arrays[1].address),
        reinterpret_cast<const __nv_bfloat16*>(arrays[2].address),
        reinterpret_cast<__nv_bfloat16*>(arrays[3].address),
        (float)eps_value,
        memory,
        stream,
    };
    for (const Choice& choice : choices) {
        if (status == KGEN_SUCCESS && choice.launch != nullptr) status = choice.launch(a, choice.space);
    }
    if (status == KGEN_SUCCESS) status = copy_back(arrays, OPERANDS, 4, stream);
    return status;
}

extern "C" int layernorm_persistent_workspace_size(const kgen_array* x_array,
                                                   const kgen_array* weight_array,
                                                   const kgen_array* bias_array,
                                                   const kgen_array* y_array,
                                                   size_t* bytes)
{
    using namespace kgen_layernorm_persistent;
    const kgen_array* const given[] = {x_array, weight_array, bias_array, y_array};
    Array arrays[4];
    Choice choices[1] = {};
    const int status = decide(given, arrays, choices);
    *bytes = status == KGEN_SUCCESS ? workspace_of(arrays, choices) : 0;
    return status;
}

extern "C" const char* layernorm_persistent_error_string(int status)
{
    using namespace kgen_layernorm_persistent;
    return message_of(status, OPERANDS, 4);
}

#endif
