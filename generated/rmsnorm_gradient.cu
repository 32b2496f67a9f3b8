// Made by kgen 0.1.0 from rmsnorm_gradient.k. Do not edit; remake it with
//     kgen compile rmsnorm_gradient.k -o rmsnorm_gradient.cu --dtype x=bf16,weight=bf16,y_grad=bf16 --shape x=16384x4096,weight=4096,y_grad=16384x4096 --arch sm_90
//
//     # The gradients of ../rmsnorm.k, as `kgen grad` writes them.
//     input x, weight, y_grad
//     param eps = 1e-06
//     let v2 = rsqrt(mean(x * x, axis=-1, keepdims=true) + eps)
//     let v1 = x * v2
//     # gradients through `y = x * rsqrt(mean(x * x, axis=-1, keepdims=true) + eps) * weight`
//     let v1_grad = y_grad * weight
//     let v3_grad = -0.5 * sum(v1_grad * x, axis=1, keepdims=true) * v2 * v2 * v2 / size(x, 1)
//     x_grad = 2 * v3_grad * x + v1_grad * v2
//     weight_grad = sum(y_grad * v1, axis=0)
//
// Inputs:  x: bfloat16, weight: bfloat16, y_grad: bfloat16, eps: float32 (by value)
// Outputs: x_grad: bfloat16, weight_grad: bfloat16
//
// Chosen for kernel 1: rows and columns: blocks of 256 threads take several rows of 4096 elements, one
//         after the other, 16 elements a thread, and keep a sum for each column: one pass over memory.
// Chosen for kernel 1: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Chosen for kernel 1: order: writes `weight_grad_partials` for kernel 2: each
//         block sums its own rows; these sums are added up in a fixed order.
// Chosen for kernel 2: columns: 8 threads across groups of 4 columns, 32 threads share each group.
// Chosen for kernel 2: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).
// Kernels, launched in this order: rmsnorm_gradient_x_grad_rows_columns4096, rmsnorm_gradient_weight_grad_columns.
// Buffers between them, which the caller allocates: weight_grad_partials: float32.

#include <cuda_bf16.h>

namespace kgen_rmsnorm_gradient {

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

// Asks for a row ahead of its loads, which then find it in L2.  Its address and `bytes` are multiples of 16.  One
// thread calls it.
static __device__ __forceinline__ void
prefetch_row([[maybe_unused]] const void* row, [[maybe_unused]] unsigned int bytes)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;"
                 :: "l"(__cvta_generic_to_global(row)), "r"(bytes) : "memory");
#endif
}

// Reads a group as 32-bit words.  The compiler would unpack the bytes of a vector load at once, and take a wrong sign
// for sums of every fourth signed one (CUDA 12.1 to 13.5, up to sm_90).
template <typename T>
static __device__ __forceinline__ T load_words(const void* from)
{
    struct alignas(alignof(T)) Words {
        unsigned int at[sizeof(T) / 4];
    };
    const Words words = *reinterpret_cast<const Words*>(from);
    T result;
    memcpy(&result, &words, sizeof(T));
    return result;
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

    __device__ __forceinline__ T result() const { return sum; }

    template <typename Count>
    __device__ __forceinline__ T mean(Count count) const { return sum / (T)count; }
};

// A sum with the accumulated rounding errors (Kahan-Babuska), for a thread that adds up a long row.
template <typename T>
struct CompensatedSum {
    T sum, rest;

    static __device__ __forceinline__ CompensatedSum identity() { return {0, 0}; }

    __device__ __forceinline__ void merge(const Sum<T>& part)
    {
        const T total = sum + part.sum, gained = total - sum;
        rest += (sum - (total - gained)) + (part.sum - gained);
        sum = total;
    }

    __device__ __forceinline__ Sum<T> total() const { return {isfinite(sum) ? sum + rest : sum}; }
};

// What a block needs of elements that all rows share.
static __device__ __forceinline__ void
rmsnorm_gradient_x_grad_before(const __nv_bfloat16 weight_v, float& weight_f32_kept)
{
    const float weight_f32 = to_float(weight_v);
    weight_f32_kept = weight_f32;
}

// What the rounds of a row need of its elements.
static __device__ __forceinline__ void
rmsnorm_gradient_x_grad_begin(const __nv_bfloat16 x_v,
                              const __nv_bfloat16 y_grad_v,
                              float& x_f32_kept,
                              float& y_grad_f32_kept)
{
    const float x_f32 = to_float(x_v);
    const float y_grad_f32 = to_float(y_grad_v);
    x_f32_kept = x_f32;
    y_grad_f32_kept = y_grad_f32;
}

// Accumulates one element into mean and sum.
static __device__ __forceinline__ void
rmsnorm_gradient_x_grad_pass(const float x_f32_v,
                             const float weight_f32_v,
                             const float y_grad_f32_v,
                             Sum<float>& mean_acc,
                             Sum<float>& sum_acc)
{
    // let v2 = rsqrt(mean(x * x, axis=-1, keepdims=true) + eps)
    mean_acc.add(x_f32_v * x_f32_v);
    // let v1_grad = y_grad * weight
    const float v1_grad_v = y_grad_f32_v * weight_f32_v;
    // let v3_grad = -0.5 * sum(v1_grad * x, axis=1, keepdims=true) * v2 * v2 * v2 / size(x, 1)
    sum_acc.add(v1_grad_v * x_f32_v);
}

// One element of x_grad. Adds to weight_grad_sum.
static __device__ __forceinline__ void
rmsnorm_gradient_x_grad_element(const float x_f32_v,
                                const float weight_f32_v,
                                const float y_grad_f32_v,
                                const float v2_v,
                                const float t,
                                __nv_bfloat16& x_grad_v,
                                float& weight_grad_sum)
{
    // let v1 = x * v2
    const float v1_v = x_f32_v * v2_v;
    // let v1_grad = y_grad * weight
    const float v1_grad_v = y_grad_f32_v * weight_f32_v;
    // x_grad = 2 * v3_grad * x + v1_grad * v2
    x_grad_v = __float2bfloat16_rn(t * x_f32_v + v1_grad_v * v2_v);
    weight_grad_sum += y_grad_f32_v * v1_v;
}

// Accumulates one element into sum.
static __device__ __forceinline__ void
rmsnorm_gradient_weight_grad_pass(const float weight_grad_partials_v, Sum<float>& sum_acc)
{
    // weight_grad = sum(y_grad * v1, axis=0)
    sum_acc.add(weight_grad_partials_v);
}

// Where the rows lie; strides and steps in elements.
struct rmsnorm_gradient_x_grad_rows_columns4096_layout {
    long long x_grad_stride;  // of x_grad, x and y_grad
};

// Rows of 4096 elements, kept in registers: each block takes every gridDim.x-th row, and adds up its columns.
// Launch: any number of blocks of 256 threads, for n rows; each stores one row of weight_grad_partials.
// Bound: at most 128 registers a thread, so that 2 blocks fit an SM.
// Limits: fewer than 2^31 rows, and every place within a row, in bytes, below 2^31.
// Alignment, in bytes: 16 for x_grad, x, weight and y_grad.
// Vector accesses: row widths and row strides are multiples of 8 elements.
// No other operand may overlap x_grad and weight_grad_partials in memory.
extern "C" __global__ void __launch_bounds__(256, 2)
rmsnorm_gradient_x_grad_rows_columns4096(const __nv_bfloat16* x_ptr,
                                         const __nv_bfloat16* weight_ptr,
                                         const __nv_bfloat16* y_grad_ptr,
                                         __nv_bfloat16* __restrict__ x_grad_ptr,
                                         float* __restrict__ weight_grad_partials_ptr,
                                         const float eps_v,
                                         const rmsnorm_gradient_x_grad_rows_columns4096_layout layout,
                                         const unsigned int n)
{
    const int thread = threadIdx.x;
    Pack<float, 8, 32> weight_grad_sum[2] = {};  // of this block's rows, for each of the thread's columns
    __shared__ Sum<float> mean_warp_partials[2][8];
    __shared__ Sum<float> sum_warp_partials[2][8];
    float weight_f32_kept[2][8];
    const __nv_bfloat16* x_ahead = x_ptr + blockIdx.x * layout.x_grad_stride;
    Pack<__nv_bfloat16, 8, 16> x_next[2];
    const __nv_bfloat16* y_grad_ahead = y_grad_ptr + blockIdx.x * layout.x_grad_stride;
    Pack<__nv_bfloat16, 8, 16> y_grad_next[2];
    wait_for_earlier_kernels();
    #pragma unroll
    for (int v = 0; v < 2; ++v) {
        const int i = 8 * (v * 256 + thread);
        x_next[v] = load_words<Pack<__nv_bfloat16, 8, 16>>(x_ahead + i);
        y_grad_next[v] = load_words<Pack<__nv_bfloat16, 8, 16>>(y_grad_ahead + i);
    }
    #pragma unroll
    for (int v = 0; v < 2; ++v) {
        const int i = 8 * (v * 256 + thread);
        const auto weight_vec = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(weight_ptr + i);
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            rmsnorm_gradient_x_grad_before(extract(weight_vec, j), weight_f32_kept[v][j]);
        }
    }

    // Warps exchange states in one of two sets of slots: some may still read those of the row before.
    for (unsigned int row = blockIdx.x, set = 0; row < n; row += gridDim.x, set = 1 - set) {
        if (threadIdx.x == 0 && row + 2 * gridDim.x < n) {
            prefetch_row(x_ptr + (row + 2 * gridDim.x) * layout.x_grad_stride, 8192);
            prefetch_row(y_grad_ptr + (row + 2 * gridDim.x) * layout.x_grad_stride, 8192);
        }
        __nv_bfloat16* const x_grad_row = x_grad_ptr + row * layout.x_grad_stride;

        float x_f32_kept[2][8];
        float y_grad_f32_kept[2][8];
        #pragma unroll
        for (int v = 0; v < 2; ++v) {
            keep_packed(x_next[v]);
            keep_packed(y_grad_next[v]);
            #pragma unroll
            for (int j = 0; j < 8; ++j) {
                rmsnorm_gradient_x_grad_begin(extract(x_next[v], j), extract(y_grad_next[v], j),
                                              x_f32_kept[v][j], y_grad_f32_kept[v][j]);
            }
        }
        x_ahead += gridDim.x * layout.x_grad_stride;
        y_grad_ahead += gridDim.x * layout.x_grad_stride;
        if (row + gridDim.x < n) {
            #pragma unroll
            for (int v = 0; v < 2; ++v) {
                const int i = 8 * (v * 256 + thread);
                x_next[v] = load_words<Pack<__nv_bfloat16, 8, 16>>(x_ahead + i);
                y_grad_next[v] = load_words<Pack<__nv_bfloat16, 8, 16>>(y_grad_ahead + i);
            }
        }

        auto mean_acc = Sum<float>::identity();
        auto sum_acc = Sum<float>::identity();
        #pragma unroll
        for (int v = 0; v < 2; ++v) {
            auto mean_part = Sum<float>::identity();
            auto sum_part = Sum<float>::identity();
            #pragma unroll
            for (int j = 0; j < 8; ++j) {
                rmsnorm_gradient_x_grad_pass(x_f32_kept[v][j], weight_f32_kept[v][j],
                                             y_grad_f32_kept[v][j], mean_part, sum_part);
            }
            mean_acc.merge(mean_part);
            sum_acc.merge(sum_part);
        }
        #pragma unroll
        for (int d = 16; d > 0; d /= 2) {
            mean_acc.merge(mean_acc.shuffle_xor(d));
            sum_acc.merge(sum_acc.shuffle_xor(d));
        }
        if (threadIdx.x % 32 == 0) {
            mean_warp_partials[set][threadIdx.x / 32] = mean_acc;
            sum_warp_partials[set][threadIdx.x / 32] = sum_acc;
        }
        __syncthreads();
        mean_acc = mean_warp_partials[set][threadIdx.x % 8];
        sum_acc = sum_warp_partials[set][threadIdx.x % 8];
        #pragma unroll
        for (int d = 4; d > 0; d /= 2) {
            mean_acc.merge(mean_acc.shuffle_xor(d));
            sum_acc.merge(sum_acc.shuffle_xor(d));
        }
        const float mean_v = mean_acc.mean(4096);
        const float sum_v = sum_acc.result();
        // let v2 = rsqrt(mean(x * x, axis=-1, keepdims=true) + eps)
        const float v2_v = rsqrtf(mean_v + eps_v);
        // let v3_grad = -0.5 * sum(v1_grad * x, axis=1, keepdims=true) * v2 * v2 * v2 / size(x, 1)
        const float v3_grad_v = -0.5f * sum_v * v2_v * v2_v * v2_v / (float)4096ll;
        // x_grad = 2 * v3_grad * x + v1_grad * v2
        const float t = 2.0f * v3_grad_v;

        #pragma unroll
        for (int v = 0; v < 2; ++v) {
            const int i = 8 * (v * 256 + thread);
            Pack<__nv_bfloat16, 8, 16> x_grad_vec;
            #pragma unroll
            for (int j = 0; j < 8; ++j) {
                rmsnorm_gradient_x_grad_element(x_f32_kept[v][j], weight_f32_kept[v][j],
                                                y_grad_f32_kept[v][j], v2_v, t, x_grad_vec.at[j],
                                                weight_grad_sum[v].at[j]);
            }
            *reinterpret_cast<Pack<__nv_bfloat16, 8, 16>*>(x_grad_row + i) = x_grad_vec;
        }
    }

    float* const weight_grad_partials_row = weight_grad_partials_ptr + blockIdx.x * 4096ll;
    #pragma unroll
    for (int v = 0; v < 2; ++v) {
        const int i = 8 * (v * 256 + thread);
        *reinterpret_cast<Pack<float, 8, 32>*>(weight_grad_partials_row + i) = weight_grad_sum[v];
    }
    let_next_kernel_start();
}

// Where the columns lie; strides and steps in elements.
struct rmsnorm_gradient_weight_grad_columns_layout {
    int height;  // elements of a column
    unsigned int groups;  // of 4 neighbouring columns
    int weight_grad_partials_step;  // down a column
};

// 32 columns a block: 8 threads across, 32 down each column.
// Launch: a block of 256 threads for each 32 columns.
// Bound: at most 80 registers a thread, so that 3 blocks fit an SM.
// Limits: fewer than 2^31 columns, and every place within one, in bytes, below 2^31.
// Alignment, in bytes: 16 for weight_grad_partials; 8 for weight_grad.
// Columns are a multiple of 4.
// No other operand may overlap weight_grad in memory.
extern "C" __global__ void __launch_bounds__(256, 3)
rmsnorm_gradient_weight_grad_columns(__nv_bfloat16* __restrict__ weight_grad_ptr,
                                     const float* weight_grad_partials_ptr,
                                     const rmsnorm_gradient_weight_grad_columns_layout layout)
{
    const int across = threadIdx.x % 8;  // among the threads across columns
    const int down = threadIdx.x / 8;  // among the threads that share each column
    const unsigned int number = blockIdx.x * 8u + across;  // of a group of columns
    const int column = 4 * (int)number;
    const bool live = number < layout.groups;
    __nv_bfloat16* const weight_grad_column = weight_grad_ptr + column;
    const float* const weight_grad_partials_column = weight_grad_partials_ptr + column;
    wait_for_earlier_kernels();

    __shared__ Sum<float> sum_shared[1024];
    Sum<float> sum_acc[4];
    CompensatedSum<float> sum_compensated[4];
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        sum_compensated[j] = CompensatedSum<float>::identity();
    }
    if (live) {
        int e = down;
        for (; e + 96 < layout.height; e += 128) {
            Pack<float, 4, 16> weight_grad_partials_vec[4];
            #pragma unroll
            for (int u = 0; u < 4; ++u) {
                weight_grad_partials_vec[u] =
                    *reinterpret_cast<const Pack<float, 4, 16>*>(weight_grad_partials_column
                    + (e + u * 32) * layout.weight_grad_partials_step);
            }
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                auto sum_part = Sum<float>::identity();
                #pragma unroll
                for (int u = 0; u < 4; ++u) {
                    rmsnorm_gradient_weight_grad_pass(weight_grad_partials_vec[u].at[j], sum_part);
                }
                sum_compensated[j].merge(sum_part);
            }
        }
        if (e + 32 < layout.height) {
            Pack<float, 4, 16> weight_grad_partials_vec[2];
            #pragma unroll
            for (int u = 0; u < 2; ++u) {
                weight_grad_partials_vec[u] =
                    *reinterpret_cast<const Pack<float, 4, 16>*>(weight_grad_partials_column
                    + (e + u * 32) * layout.weight_grad_partials_step);
            }
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                auto sum_part = Sum<float>::identity();
                #pragma unroll
                for (int u = 0; u < 2; ++u) {
                    rmsnorm_gradient_weight_grad_pass(weight_grad_partials_vec[u].at[j], sum_part);
                }
                sum_compensated[j].merge(sum_part);
            }
            e += 64;
        }
        if (e < layout.height) {
            const auto weight_grad_partials_vec =
                *reinterpret_cast<const Pack<float, 4, 16>*>(weight_grad_partials_column
                + e * layout.weight_grad_partials_step);
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                auto sum_part = Sum<float>::identity();
                rmsnorm_gradient_weight_grad_pass(weight_grad_partials_vec.at[j], sum_part);
                sum_compensated[j].merge(sum_part);
            }
        }
    }
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        sum_acc[j] = sum_compensated[j].total();
    }

    // Threads that share columns merge their states in shared memory; each thread merges one column at a time.
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        sum_shared[(down * 4 + j) * 8 + across] = sum_acc[j];
    }
    __syncthreads();
    #pragma unroll 1
    for (int n = 32; n > 1; n = (n + 7) / 8) {
        const int s = (n + 7) / 8;  // the first s states take in the other n - s
        for (int i = threadIdx.x; i < s * 32; i += 256) {
            Sum<float> sum_merged = sum_shared[i];
            #pragma unroll
            for (int other = 1; other < 8; ++other) {
                if (i + other * s * 32 < n * 32) {
                    sum_merged.merge(sum_shared[i + other * s * 32]);
                }
            }
            sum_shared[i] = sum_merged;
        }
        __syncthreads();
    }

    if (down == 0 && live) {
        Pack<__nv_bfloat16, 4, 8> weight_grad_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            const float sum_v = sum_shared[j * 8 + across].result();
            // weight_grad = sum(y_grad * v1, axis=0)
            weight_grad_vec.at[j] = __float2bfloat16_rn(sum_v);
        }
        *reinterpret_cast<Pack<__nv_bfloat16, 4, 8>*>(weight_grad_column) = weight_grad_vec;
    }
    let_next_kernel_start();
}

}  // namespace kgen_rmsnorm_gradient

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

namespace kgen_rmsnorm_gradient {

// The dimensions that a kernel walks, the fastest first, and the strides of its accesses along them.
constexpr int ACCESSES = 5;
struct Space {
    int rank;
    long long shape[8];
    long long strides[ACCESSES][8];
};

// Kernels that move whole vectors take arrays at multiples of so many bytes.
constexpr int ALIGNMENT = 16;

static long long kgen_ceil_div(long long a, long long b) { return (a + b - 1) / b; }

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
    const __nv_bfloat16* weight_ptr;
    const __nv_bfloat16* y_grad_ptr;
    __nv_bfloat16* x_grad_ptr;
    __nv_bfloat16* weight_grad_ptr;
    float eps_v;
    float* weight_grad_partials_ptr;
    cudaStream_t stream;
};

static int launch_rmsnorm_gradient_x_grad_rows_columns4096(const Arguments& a, const Space& space)
{
    const long long* const shape = space.shape;
    const auto& strides = space.strides;
    const long long rows = shape[1];
    const long long width = shape[0];
    const long long resident = kgen_ceil_div(8192, kgen_max(width, 1)) * 132;
    const long long multiple = kgen_max(kgen_min(kgen_ceil_div(rows, 128), 2), 1);
    const long long block_rows =
        kgen_max(kgen_ceil_div(rows, (resident * kgen_max(kgen_ceil_div(rows, resident * 64), 1)) * multiple),
            1) * multiple;
    const rmsnorm_gradient_x_grad_rows_columns4096_layout layout = {
        (shape[1] != 1) ? strides[0][1] : 0,
    };
    return launch(rmsnorm_gradient_x_grad_rows_columns4096, kgen_ceil_div(rows, block_rows), 1, 256, true, a.stream,
                  a.x_ptr, a.weight_ptr, a.y_grad_ptr, a.x_grad_ptr, a.weight_grad_partials_ptr, a.eps_v, layout,
                      (unsigned int)rows);
}

static int launch_rmsnorm_gradient_weight_grad_columns(const Arguments& a, const Space& space)
{
    const long long* const shape = space.shape;
    const auto& strides = space.strides;
    const long long width = shape[0];
    const long long row_blocks = kgen_ceil_div(kgen_ceil_div(shape[1], 4), 8);
    const rmsnorm_gradient_weight_grad_columns_layout layout = {
        (int)width,
        (unsigned int)kgen_ceil_div(shape[1], 4),
        (int)((shape[0] > 1) ? strides[1][0] : 0),
    };
    return launch(rmsnorm_gradient_weight_grad_columns, row_blocks, 1, 256, true, a.stream,
                  a.weight_grad_ptr, a.weight_grad_partials_ptr, layout);
}

const Operand OPERANDS[] = {
    {"x", KGEN_BFLOAT16, 2, false},
    {"weight", KGEN_BFLOAT16, 1, false},
    {"y_grad", KGEN_BFLOAT16, 2, false},
    {"x_grad", KGEN_BFLOAT16, 2, true},
    {"weight_grad", KGEN_BFLOAT16, 1, true},
};

// What a call launches for one kernel of the program: nothing where there is nothing to compute.
struct Choice {
    int (*launch)(const Arguments&, const Space&);
    Space space;
};

// Checks the arrays, and that they have the layouts that the kernels are for, and decides on the kernels.
static int decide(const kgen_array* const* given, Array* arrays, Choice* choices)
{
    int status = read_arrays(given, OPERANDS, 5, arrays);
    if (status == KGEN_SUCCESS) status = check_layout(arrays[0], 1, {16384, 4096}, {4096, 1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[1], 2, {4096}, {1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[2], 3, {16384, 4096}, {4096, 1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[3], 4, {16384, 4096}, {4096, 1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[4], 5, {4096}, {1});
    if (status != KGEN_SUCCESS || (arrays[3].size == 0 && arrays[4].size == 0)) return status;
    choices[0].launch = launch_rmsnorm_gradient_x_grad_rows_columns4096;
    choices[0].space = {2, {4096, 16384}, {{1, 4096}, {1, 0}, {1, 4096}, {1, 0}, {1, 4096}}};
    choices[1].launch = launch_rmsnorm_gradient_weight_grad_columns;
    choices[1].space = {2, {256, 4096}, {{0, 1}, {4096, 1}}};
    return mark_unaligned(arrays, OPERANDS, {0, 1, 2, 3, 4});
}

// The bytes of a call: copies of unaligned arrays, buffers between kernels, then scratch memory, which these share.
static size_t workspace_of(const Array* arrays)
{
    return 4194304 + bytes_of_copies(arrays, 5);
}

}  // namespace kgen_rmsnorm_gradient

extern "C" int rmsnorm_gradient_launch(const kgen_array* x_array,
                                       const kgen_array* weight_array,
                                       const kgen_array* y_grad_array,
                                       const kgen_array* x_grad_array,
                                       const kgen_array* weight_grad_array,
                                       double eps_value,
                                       void* workspace,
                                       size_t workspace_bytes,
                                       cudaStream_t stream)
{
    using namespace kgen_rmsnorm_gradient;
    const kgen_array* const given[] = {x_array, weight_array, y_grad_array, x_grad_array, weight_grad_array};
    Array arrays[5];
    Choice choices[2] = {};
    int status = decide(given, arrays, choices);
    if (status == KGEN_SUCCESS) {
        status = check_workspace(workspace, workspace_bytes, workspace_of(arrays));
    }
    if (status != KGEN_SUCCESS) return status;
    char* memory = static_cast<char*>(workspace);
    status = copy_unaligned(arrays, 5, &memory, stream);
    if (status != KGEN_SUCCESS) return status;
    const Arguments a = {
        reinterpret_cast<const __nv_bfloat16*>(arrays[0].address),
        reinterpret_cast<const __nv_bfloat16*>(arrays[1].address),
        reinterpret_cast<const __nv_bfloat16*>(arrays[2].address),
        reinterpret_cast<__nv_bfloat16*>(arrays[3].address),
        reinterpret_cast<__nv_bfloat16*>(arrays[4].address),
        (float)eps_value,
        reinterpret_cast<float*>(memory),
        stream,
    };
    for (const Choice& choice : choices) {
        if (status == KGEN_SUCCESS && choice.launch != nullptr) status = choice.launch(a, choice.space);
    }
    if (status == KGEN_SUCCESS) status = copy_back(arrays, OPERANDS, 5, stream);
    return status;
}

extern "C" int rmsnorm_gradient_workspace_size(const kgen_array* x_array,
                                               const kgen_array* weight_array,
                                               const kgen_array* y_grad_array,
                                               const kgen_array* x_grad_array,
                                               const kgen_array* weight_grad_array,
                                               size_t* bytes)
{
    using namespace kgen_rmsnorm_gradient;
    const kgen_array* const given[] = {x_array, weight_array, y_grad_array, x_grad_array, weight_grad_array};
    Array arrays[5];
    Choice choices[2] = {};
    const int status = decide(given, arrays, choices);
    *bytes = status == KGEN_SUCCESS ? workspace_of(arrays) : 0;
    return status;
}

extern "C" const char* rmsnorm_gradient_error_string(int status)
{
    using namespace kgen_rmsnorm_gradient;
    return message_of(status, OPERANDS, 5);
}

#endif
