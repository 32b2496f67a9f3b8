// Made by kgen 0.1.0 from softmax.k. Do not edit; remake it with
//     kgen compile softmax.k -o softmax_one_row.cu --dtype x=f32 --shape x=1x100000000 --name softmax_one_row
//
//     # Softmax over the last axis: three lines, one kernel.
//     let m = max(x, axis=-1, keepdims=true)
//     let e = exp(x - m)
//     y = e / sum(e, axis=-1, keepdims=true)
//
// Inputs:  x: float32
// Outputs: y: float32
//
// Chosen for kernel 1: rows: 512 threads share a row and walk it once.
// Chosen for kernel 1: split: rows are long, so several blocks share each; the last one merges their results.
// Chosen for kernel 1: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Chosen for kernel 1: online: sums of exponentials are relative to the
//         greatest so far, so that no round waits for the maximum.
// Chosen for kernel 1: order: writes `m_buffer` and `exp_sum_buffer` for kernel 2: one kernel for
//         the whole chain is slower: rows are too long for it, or not consecutive in memory.
// Chosen for kernel 2: contiguous: 4 elements a thread, so that `y` moves in 16-byte accesses.
// Chosen for kernel 2: 32-bit indices: every element number is below 2^31.
// Chosen for kernel 2: backward: the last elements first, because L2 still has what the kernel ahead read last.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).
// Kernels, launched in this order: softmax_one_row_m_buffer_reduce_long_split, softmax_one_row_y_contiguous.
// Buffers between them, which the caller allocates: m_buffer: float32, exp_sum_buffer: float32.

namespace kgen_softmax_one_row {

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

    // The sum of exp(element - peak); NaN where the peak is infinite.
    __device__ __forceinline__ T exp_sum() const { return sum + (peak - peak); }
};

// One element.
static __device__ __forceinline__ void
softmax_one_row_y_element(const float x_v,
                          const float m_buffer_v,
                          const float exp_sum_buffer_v,
                          float& y_v)
{
    // let e = exp(x - m)
    const float e_v = expf(x_v - m_buffer_v);
    // y = e / sum(e, axis=-1, keepdims=true)
    y_v = e_v / exp_sum_buffer_v;
}

// The value of one element that goes into exp_sum.
static __device__ __forceinline__ void
softmax_one_row_m_buffer_pass(const float x_v, float& exp_sum_value)
{
    // y = e / sum(e, axis=-1, keepdims=true)
    exp_sum_value = x_v;
}

// Where the rows lie; strides and steps in elements.
struct softmax_one_row_m_buffer_reduce_long_split_layout {
    long long m_buffer_stride;  // of m_buffer and exp_sum_buffer
    long long x_stride;
    int width;  // elements of a row
    int span;  // elements of a row that a block takes
};

// Rows of any length, each shared by several blocks: 512 threads a row and block.
// Launch: (rows, ceil(width / span)) blocks of 512 threads; `span`: any multiple of 4.
// Memory: rows * gridDim.y of each `*_block_partials`; `arrived` counts for each row, 0 before and after.
// Bound: at most 64 registers a thread, so that 2 blocks fit an SM.
// Limits: fewer than 2^31 rows, and every place within a row, in bytes, below 2^31 - 2^16.
// Alignment, in bytes: 16 for x.
// Vector accesses: row widths and row strides are multiples of 4 elements.
// No other operand may overlap m_buffer and exp_sum_buffer in memory.
extern "C" __global__ void __launch_bounds__(512, 2)
softmax_one_row_m_buffer_reduce_long_split(const float* x_ptr,
                                           float* __restrict__ m_buffer_ptr,
                                           float* __restrict__ exp_sum_buffer_ptr,
                                           LogSum<float>* exp_sum_block_partials,
                                           unsigned int* arrived,
                                           const softmax_one_row_m_buffer_reduce_long_split_layout layout)
{
    const int thread = threadIdx.x;
    const unsigned int row = blockIdx.x;
    const float* const x_row = x_ptr + row * layout.x_stride;
    const int first = blockIdx.y * layout.span;  // where this block's span begins
    const int last = first + min(layout.span, layout.width - first);
    wait_for_earlier_kernels();

    __shared__ LogSum<float> exp_sum_warp_partials[16];
    auto exp_sum_acc = LogSum<float>::identity();
    #pragma unroll 4
    for (int i = first + 4 * thread; i < last; i += 2048) {
        const auto x_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(x_row + i);
        float exp_sum_part[4];
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            softmax_one_row_m_buffer_pass(x_vec.at[j], exp_sum_part[j]);
        }
        exp_sum_acc.add(exp_sum_part);
    }
    exp_sum_acc.merge_lanes<32>();
    if (threadIdx.x % 32 == 0) {
        exp_sum_warp_partials[threadIdx.x / 32] = exp_sum_acc;
    }
    __syncthreads();
    exp_sum_acc = exp_sum_warp_partials[threadIdx.x % 16];
    exp_sum_acc.merge_lanes<16>();

    // The last block of this row to arrive merges the partials of all, always in the same order.
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        exp_sum_block_partials[row * gridDim.y + blockIdx.y] = exp_sum_acc;
        __threadfence();  // release: this block's partials are visible before its arrival
        is_last = atomicInc(&arrived[row], gridDim.y - 1) == gridDim.y - 1;
        __threadfence();  // acquire: the last block sees all partials
    }
    __syncthreads();
    if (!is_last) {
        return;
    }
    exp_sum_acc = LogSum<float>::identity();
    for (unsigned int b = thread; b < gridDim.y; b += 512) {
        exp_sum_acc.merge(exp_sum_block_partials[row * gridDim.y + b]);
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

    if (thread == 0) {
        m_buffer_ptr[row * layout.m_buffer_stride] = m_v;
        exp_sum_buffer_ptr[row * layout.m_buffer_stride] = exp_sum_v;
    }
    let_next_kernel_start();
}

// Operands in memory order, 4 elements a thread.
// Launch: ceil(n / 1024) blocks of 256 threads, for n < 2^31 elements.
// Alignment, in bytes: 16 for y and x.
// A single element, the same for all: m_buffer and exp_sum_buffer.
// The last elements first: L2 still has what the kernel ahead read last.
// No other operand may overlap y in memory.
extern "C" __global__ void __launch_bounds__(256)
softmax_one_row_y_contiguous(const float* x_ptr,
                             float* __restrict__ y_ptr,
                             const float* m_buffer_ptr,
                             const float* exp_sum_buffer_ptr,
                             const unsigned int n)
{
    const unsigned int block = gridDim.x - 1 - blockIdx.x;  // the last elements first
    const unsigned int i = 4u * (block * 256u + threadIdx.x);  // the first of this thread's 4 elements
    const unsigned int whole_to = n / 4 * 4;  // whole groups lie up to here
    wait_for_earlier_kernels();
    if (i < whole_to) {
        const auto x_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(x_ptr + i);
        const float m_buffer_v = m_buffer_ptr[0];
        const float exp_sum_buffer_v = exp_sum_buffer_ptr[0];
        Pack<float, 4, 16> y_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            softmax_one_row_y_element(x_vec.at[j], m_buffer_v, exp_sum_buffer_v, y_vec.at[j]);
        }
        *reinterpret_cast<Pack<float, 4, 16>*>(y_ptr + i) = y_vec;
    }
    // Elements that are in no whole group, one a thread of the first block.
    const unsigned int e = whole_to + (255 - threadIdx.x);
    if (blockIdx.x == 0 && e < n) {
        const float m_buffer_v = m_buffer_ptr[0];
        const float exp_sum_buffer_v = exp_sum_buffer_ptr[0];
        softmax_one_row_y_element(x_ptr[e], m_buffer_v, exp_sum_buffer_v, y_ptr[e]);
    }
    let_next_kernel_start();
}

// Zeroes the counters of the next kernel.
// Launch: one block of 256 threads.
extern "C" __global__ void __launch_bounds__(256)
softmax_one_row_zero(unsigned int* counters, const long long count)
{
    wait_for_earlier_kernels();
    for (long long i = threadIdx.x; i < count; i += 256) {
        counters[i] = 0;
    }
    let_next_kernel_start();
}

}  // namespace kgen_softmax_one_row

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

#define KGEN_FLOAT32 {2, 32, 1}

namespace kgen_softmax_one_row {

// The dimensions that a kernel walks, the fastest first, and the strides of its accesses along them.
constexpr int ACCESSES = 4;
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
    const float* x_ptr;
    float* y_ptr;
    float* m_buffer_ptr;
    float* exp_sum_buffer_ptr;
    char* scratch;
    cudaStream_t stream;
};

static int launch_softmax_one_row_m_buffer_reduce_long_split(const Arguments& a, const Space& space)
{
    const long long* const shape = space.shape;
    const auto& strides = space.strides;
    const long long rows = shape[1];
    const long long width = shape[0];
    const long long row_blocks = rows;
    const long long most_spans = kgen_max(kgen_min(kgen_ceil_div(width, 32768), 4096), 1);
    const long long span = kgen_ceil_div(width, most_spans * 32768) * 32768;
    const long long spans = kgen_ceil_div(width, span);
    const long long partials = row_blocks * spans;
    const softmax_one_row_m_buffer_reduce_long_split_layout layout = {
        (shape[1] != 1) ? strides[0][1] : 0,
        (shape[1] != 1) ? strides[2][1] : 0,
        (int)width,
        (int)span,
    };
    const Scratch scratch1 = {a.scratch};
    const Scratch scratch2 = {a.scratch + kgen_ceil_div(partials * 8, 256) * 256};
    if (const int status = zero(softmax_one_row_zero, scratch2, row_blocks * 4, a.stream)) return status;
    return launch(softmax_one_row_m_buffer_reduce_long_split, row_blocks, spans, 512, true, a.stream,
                  a.x_ptr, a.m_buffer_ptr, a.exp_sum_buffer_ptr, scratch1, scratch2, layout);
}

static long long scratch_of_softmax_one_row_m_buffer_reduce_long_split(const Space& space)
{
    const long long* const shape = space.shape;
    const long long rows = shape[1];
    const long long width = shape[0];
    const long long row_blocks = rows;
    const long long most_spans = kgen_max(kgen_min(kgen_ceil_div(width, 32768), 4096), 1);
    const long long span = kgen_ceil_div(width, most_spans * 32768) * 32768;
    const long long spans = kgen_ceil_div(width, span);
    const long long partials = row_blocks * spans;
    return (kgen_ceil_div(partials * 8, 256) * 256) + (kgen_ceil_div(row_blocks * 4, 256) * 256);
}

static int launch_softmax_one_row_y_contiguous(const Arguments& a, const Space& space)
{
    const long long* const shape = space.shape;
    const long long n = shape[0];
    return launch(softmax_one_row_y_contiguous, kgen_ceil_div(n, 1024), 1, 256, true, a.stream,
                  a.x_ptr, a.y_ptr, a.m_buffer_ptr, a.exp_sum_buffer_ptr, (unsigned int)n);
}

const Operand OPERANDS[] = {
    {"x", KGEN_FLOAT32, 2, false},
    {"y", KGEN_FLOAT32, 2, true},
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
    int status = read_arrays(given, OPERANDS, 2, arrays);
    if (status == KGEN_SUCCESS) status = check_layout(arrays[0], 1, {1, 100000000}, {100000000, 1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[1], 2, {1, 100000000}, {100000000, 1});
    if (status != KGEN_SUCCESS || arrays[1].size == 0) return status;
    choices[0].launch = launch_softmax_one_row_m_buffer_reduce_long_split;
    choices[0].space = {2, {100000000, 1}, {{0, 1}, {0, 1}, {1, 100000000}}};
    choices[0].scratch_bytes = scratch_of_softmax_one_row_m_buffer_reduce_long_split(choices[0].space);
    choices[1].launch = launch_softmax_one_row_y_contiguous;
    choices[1].space = {1, {100000000}, {{1}, {1}, {0}, {0}}};
    return mark_unaligned(arrays, OPERANDS, {0, 1});
}

// The bytes of a call: copies of unaligned arrays, buffers between kernels, then scratch memory, which these share.
static size_t workspace_of(const Array* arrays, const Choice* choices)
{
    long long scratch = 0;
    for (int i = 0; i < 2; ++i) scratch = kgen_max(scratch, choices[i].scratch_bytes);
    return scratch + 512 + bytes_of_copies(arrays, 2);
}

}  // namespace kgen_softmax_one_row

extern "C" int softmax_one_row_launch(const kgen_array* x_array,
                                      const kgen_array* y_array,
                                      void* workspace,
                                      size_t workspace_bytes,
                                      cudaStream_t stream)
{
    using namespace kgen_softmax_one_row;
    const kgen_array* const given[] = {x_array, y_array};
    Array arrays[2];
    Choice choices[2] = {};
    int status = decide(given, arrays, choices);
    if (status == KGEN_SUCCESS) {
        status = check_workspace(workspace, workspace_bytes, workspace_of(arrays, choices));
    }
    if (status != KGEN_SUCCESS) return status;
    char* memory = static_cast<char*>(workspace);
    status = copy_unaligned(arrays, 2, &memory, stream);
    if (status != KGEN_SUCCESS) return status;
    const Arguments a = {
        reinterpret_cast<const float*>(arrays[0].address),
        reinterpret_cast<float*>(arrays[1].address),
        reinterpret_cast<float*>(memory),
        reinterpret_cast<float*>(memory + 256),
        memory + 512,
        stream,
    };
    for (const Choice& choice : choices) {
        if (status == KGEN_SUCCESS && choice.launch != nullptr) status = choice.launch(a, choice.space);
    }
    if (status == KGEN_SUCCESS) status = copy_back(arrays, OPERANDS, 2, stream);
    return status;
}

extern "C" int softmax_one_row_workspace_size(const kgen_array* x_array,
                                              const kgen_array* y_array,
                                              size_t* bytes)
{
    using namespace kgen_softmax_one_row;
    const kgen_array* const given[] = {x_array, y_array};
    Array arrays[2];
    Choice choices[2] = {};
    const int status = decide(given, arrays, choices);
    *bytes = status == KGEN_SUCCESS ? workspace_of(arrays, choices) : 0;
    return status;
}

extern "C" const char* softmax_one_row_error_string(int status)
{
    using namespace kgen_softmax_one_row;
    return message_of(status, OPERANDS, 2);
}

#endif
