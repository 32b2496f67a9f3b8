// Made by kgen 0.1.0 from batch_stats.k. Do not edit; remake it with
//     kgen compile batch_stats.k -o batch_stats_pixels.cu --dtype image=u8 --shape image=32x3x224x224 --strides image=150528x1x672x3 --name batch_stats_pixels
//
//     # Mean and variance of each channel of a batch of images.
//     mu = mean(image, axis=(0, 2, 3))
//     sigma2 = var(image, axis=(0, 2, 3))
//
// Inputs:  image: uint8
// Outputs: mu: float32, sigma2: float32
//
// Chosen: columns: 3 lie side by side, so vectors go across rows, and 288 threads across 768 rows.
// Chosen: split: too few rows to keep a device busy, so several blocks share each; the last one merges their results.
// Chosen: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

namespace kgen_batch_stats_pixels {

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

// The sum of bytes and of their squares, both exact: fewer than 2^16 at once.
struct ByteMoments {
    int sum;
    unsigned int squares;

    static __device__ __forceinline__ ByteMoments identity() { return {0, 0}; }

    __device__ __forceinline__ void add(int x)
    {
        sum += x;
        squares += x * x;
    }
};

// The same of any number of bytes.
struct IntegerMoments {
    long long sum, squares;

    static __device__ __forceinline__ IntegerMoments identity() { return {0, 0}; }

    __device__ __forceinline__ void merge(const ByteMoments& part)
    {
        sum += part.sum;
        squares += part.squares;
    }

    __device__ __forceinline__ void merge(const IntegerMoments& other)
    {
        sum += other.sum;
        squares += other.squares;
    }

    template <typename Count>
    __device__ __forceinline__ double mean(Count count) const { return sum / (double)count; }

    // The sum of squared distances from the mean: exact about floor(mean), then corrected for its distance to the mean.
    __device__ __forceinline__ double distance(long long count) const
    {
        const long long below = count > 0 ? sum / count - (sum % count < 0) : 0, rest = sum - below * count;
        return (double)(squares - below * (sum + rest)) - rest * (rest / (double)count);
    }

    template <typename Count>
    __device__ __forceinline__ double variance(Count elements) const { return distance(elements) / (double)elements; }
};

// Accumulates one element into var.
static __device__ __forceinline__ void
batch_stats_pixels_pass(const unsigned char image_v, ByteMoments& var_acc)
{
    // sigma2 = var(image, axis=(0, 2, 3))
    var_acc.add(image_v);
}

// Where the columns lie; strides and steps in elements.
struct batch_stats_pixels_columns_3_split_layout {
    int height;  // elements of a column
    int span;  // elements of a column that a block takes
};

// 3 columns side by side: the block's vectors cover 768 rows; several blocks share them.
// Launch: (1, ceil(height / span)) blocks of 288 threads; `span`: a multiple of 768.
// Memory: gridDim.x * gridDim.y * 3 of each `*_block_partials`.
// Memory: `arrived`, a counter for each blockIdx.x, 0 before and after.
// Bound: at most 112 registers a thread, so that 2 blocks fit an SM.
// Limits: every place within a column, in bytes, is below 2^31.
// Alignment, in bytes: 8 for image; 4 for mu and sigma2.
// No other operand may overlap mu and sigma2 in memory.
extern "C" __global__ void __launch_bounds__(288, 2)
batch_stats_pixels_columns_3_split(const unsigned char* image_ptr,
                                   float* __restrict__ mu_ptr,
                                   float* __restrict__ sigma2_ptr,
                                   IntegerMoments* var_block_partials,
                                   unsigned int* arrived,
                                   const batch_stats_pixels_columns_3_split_layout layout)
{
    const int own = 8 * threadIdx.x;  // this thread's first element of the block's rows
    const int below = (own + 7) / 3;  // the row of its last one
    const unsigned char* const image_own = image_ptr + own;
    const int first = blockIdx.y * layout.span;  // of what this block takes of the columns
    const int last = first + min(layout.span, layout.height - first);
    wait_for_earlier_kernels();

    __shared__ IntegerMoments var_shared[2304];
    IntegerMoments var_acc[8];
    #pragma unroll
    for (int j = 0; j < 8; ++j) {
        var_acc[j] = IntegerMoments::identity();
    }
    int e = first;
    for (; e + 11520 + below < last; e += 12288) {
        Pack<unsigned char, 8, 8> image_vec[16];
        #pragma unroll
        for (int u = 0; u < 16; ++u) {
            image_vec[u] = load_words<Pack<unsigned char, 8, 8>>(image_own + (e + u * 768) * 3);
        }
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            auto var_part = ByteMoments::identity();
            #pragma unroll
            for (int u = 0; u < 16; ++u) {
                batch_stats_pixels_pass(image_vec[u].at[j], var_part);
            }
            var_acc[j].merge(var_part);
        }
    }
    if (e + 5376 + below < last) {
        Pack<unsigned char, 8, 8> image_vec[8];
        #pragma unroll
        for (int u = 0; u < 8; ++u) {
            image_vec[u] = load_words<Pack<unsigned char, 8, 8>>(image_own + (e + u * 768) * 3);
        }
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            auto var_part = ByteMoments::identity();
            #pragma unroll
            for (int u = 0; u < 8; ++u) {
                batch_stats_pixels_pass(image_vec[u].at[j], var_part);
            }
            var_acc[j].merge(var_part);
        }
        e += 6144;
    }
    if (e + 2304 + below < last) {
        Pack<unsigned char, 8, 8> image_vec[4];
        #pragma unroll
        for (int u = 0; u < 4; ++u) {
            image_vec[u] = load_words<Pack<unsigned char, 8, 8>>(image_own + (e + u * 768) * 3);
        }
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            auto var_part = ByteMoments::identity();
            #pragma unroll
            for (int u = 0; u < 4; ++u) {
                batch_stats_pixels_pass(image_vec[u].at[j], var_part);
            }
            var_acc[j].merge(var_part);
        }
        e += 3072;
    }
    if (e + 768 + below < last) {
        Pack<unsigned char, 8, 8> image_vec[2];
        #pragma unroll
        for (int u = 0; u < 2; ++u) {
            image_vec[u] = load_words<Pack<unsigned char, 8, 8>>(image_own + (e + u * 768) * 3);
        }
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            auto var_part = ByteMoments::identity();
            #pragma unroll
            for (int u = 0; u < 2; ++u) {
                batch_stats_pixels_pass(image_vec[u].at[j], var_part);
            }
            var_acc[j].merge(var_part);
        }
        e += 1536;
    }
    if (e + below < last) {
        const auto image_vec = load_words<Pack<unsigned char, 8, 8>>(image_own + e * 3);
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            auto var_part = ByteMoments::identity();
            batch_stats_pixels_pass(image_vec.at[j], var_part);
            var_acc[j].merge(var_part);
        }
    }

    // Rows of 3 elements lie in shared memory as in global memory.
    #pragma unroll
    for (int j = 0; j < 8; ++j) {
        var_shared[own + j] = var_acc[j];
    }

    // The elements after the last whole vector: a thread each.
    __syncthreads();
    if (last == layout.height && (int)threadIdx.x < layout.height * 3 % 8) {
        const int at = layout.height * 3 / 8 * 8 + threadIdx.x;
        IntegerMoments var_single = IntegerMoments::identity();
        const unsigned char image_v = image_ptr[at];
        auto var_single_part = ByteMoments::identity();
        batch_stats_pixels_pass(image_v, var_single_part);
        var_single.merge(var_single_part);
        var_shared[3 * threadIdx.x + at % 3].merge(var_single);
    }
    __syncthreads();
    #pragma unroll 1
    for (int n = 768; n > 1; n = (n + 7) / 8) {
        const int s = (n + 7) / 8;  // the first s states take in the other n - s
        for (int i = threadIdx.x; i < s * 3; i += 288) {
            IntegerMoments var_merged = var_shared[i];
            #pragma unroll
            for (int other = 1; other < 8; ++other) {
                if (i + other * s * 3 < n * 3) {
                    var_merged.merge(var_shared[i + other * s * 3]);
                }
            }
            var_shared[i] = var_merged;
        }
        __syncthreads();
    }

    // The last block of these columns to arrive merges the partials of all, always in the same order.
    const unsigned int own_partials = (blockIdx.x * gridDim.y + blockIdx.y) * 3;
    if (threadIdx.x < 3) {
        var_block_partials[own_partials + threadIdx.x] = var_shared[threadIdx.x];
    }
    __syncthreads();
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        __threadfence();  // release: this block's partials are visible before its arrival
        is_last = atomicInc(&arrived[blockIdx.x], gridDim.y - 1) == gridDim.y - 1;
        __threadfence();  // acquire: the last block sees all partials
    }
    __syncthreads();
    if (!is_last) {
        return;
    }
    auto var_whole = IntegerMoments::identity();
    // Unrolled, so that several loads are in flight at once.
    #pragma unroll 8
    for (int b = threadIdx.x / 3; b < int(gridDim.y); b += 96) {
        const unsigned int other_partials = (blockIdx.x * gridDim.y + b) * 3 + threadIdx.x % 3;
        var_whole.merge(var_block_partials[other_partials]);
    }
    var_shared[threadIdx.x] = var_whole;
    __syncthreads();
    #pragma unroll 1
    for (int n = 96; n > 1; n = (n + 7) / 8) {
        const int s = (n + 7) / 8;  // the first s states take in the other n - s
        for (int i = threadIdx.x; i < s * 3; i += 288) {
            IntegerMoments var_merged = var_shared[i];
            #pragma unroll
            for (int other = 1; other < 8; ++other) {
                if (i + other * s * 3 < n * 3) {
                    var_merged.merge(var_shared[i + other * s * 3]);
                }
            }
            var_shared[i] = var_merged;
        }
        __syncthreads();
    }

    if (threadIdx.x < 3) {
        const int column = threadIdx.x;
        float* const mu_column = mu_ptr + column;
        float* const sigma2_column = sigma2_ptr + column;
        const float mean_v = var_shared[threadIdx.x].mean(layout.height);
        const float var_v = var_shared[threadIdx.x].variance(layout.height);
        // mu = mean(image, axis=(0, 2, 3))
        mu_column[0] = mean_v;
        // sigma2 = var(image, axis=(0, 2, 3))
        sigma2_column[0] = var_v;
    }
    let_next_kernel_start();
}

// Zeroes the counters of the next kernel.
// Launch: one block of 256 threads.
extern "C" __global__ void __launch_bounds__(256)
batch_stats_pixels_zero(unsigned int* counters, const long long count)
{
    wait_for_earlier_kernels();
    for (long long i = threadIdx.x; i < count; i += 256) {
        counters[i] = 0;
    }
    let_next_kernel_start();
}

}  // namespace kgen_batch_stats_pixels

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

#define KGEN_UINT8 {1, 8, 1}
#define KGEN_FLOAT32 {2, 32, 1}

namespace kgen_batch_stats_pixels {

// The dimensions that a kernel walks, the fastest first, and the strides of its accesses along them.
constexpr int ACCESSES = 3;
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
    const unsigned char* image_ptr;
    float* mu_ptr;
    float* sigma2_ptr;
    char* scratch;
    cudaStream_t stream;
};

static int launch_batch_stats_pixels_columns_3_split(const Arguments& a, const Space& space)
{
    const long long* const shape = space.shape;
    const long long width = shape[0];
    const long long row_blocks = 1;
    const long long most_spans =
        kgen_max(kgen_min(kgen_ceil_div(width, 12288),
            kgen_ceil_div((264 - kgen_max(row_blocks, 1)) + 1, kgen_max(row_blocks, 1))), 1);
    const long long span = kgen_ceil_div(width, most_spans * 12288) * 12288;
    const long long spans = kgen_ceil_div(width, span);
    const long long partials = (row_blocks * spans) * 3;
    const batch_stats_pixels_columns_3_split_layout layout = {
        (int)width,
        (int)span,
    };
    const Scratch scratch1 = {a.scratch};
    const Scratch scratch2 = {a.scratch + kgen_ceil_div(partials * 16, 256) * 256};
    if (const int status = zero(batch_stats_pixels_zero, scratch2, row_blocks * 4, a.stream)) return status;
    return launch(batch_stats_pixels_columns_3_split, row_blocks, spans, 288, true, a.stream,
                  a.image_ptr, a.mu_ptr, a.sigma2_ptr, scratch1, scratch2, layout);
}

static long long scratch_of_batch_stats_pixels_columns_3_split(const Space& space)
{
    const long long* const shape = space.shape;
    const long long width = shape[0];
    const long long row_blocks = 1;
    const long long most_spans =
        kgen_max(kgen_min(kgen_ceil_div(width, 12288),
            kgen_ceil_div((264 - kgen_max(row_blocks, 1)) + 1, kgen_max(row_blocks, 1))), 1);
    const long long span = kgen_ceil_div(width, most_spans * 12288) * 12288;
    const long long spans = kgen_ceil_div(width, span);
    const long long partials = (row_blocks * spans) * 3;
    return (kgen_ceil_div(partials * 16, 256) * 256) + (kgen_ceil_div(row_blocks * 4, 256) * 256);
}

const Operand OPERANDS[] = {
    {"image", KGEN_UINT8, 4, false},
    {"mu", KGEN_FLOAT32, 1, true},
    {"sigma2", KGEN_FLOAT32, 1, true},
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
    int status = read_arrays(given, OPERANDS, 3, arrays);
    if (status == KGEN_SUCCESS) status = check_layout(arrays[0], 1, {32, 3, 224, 224}, {150528, 1, 672, 3});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[1], 2, {3}, {1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[2], 3, {3}, {1});
    if (status != KGEN_SUCCESS || (arrays[1].size == 0 && arrays[2].size == 0)) return status;
    choices[0].launch = launch_batch_stats_pixels_columns_3_split;
    choices[0].space = {2, {1605632, 3}, {{0, 1}, {0, 1}, {3, 1}}};
    choices[0].scratch_bytes = scratch_of_batch_stats_pixels_columns_3_split(choices[0].space);
    return mark_unaligned(arrays, OPERANDS, {0});
}

// The bytes of a call: copies of unaligned arrays, buffers between kernels, then scratch memory, which these share.
static size_t workspace_of(const Array* arrays, const Choice* choices)
{
    return choices[0].scratch_bytes + bytes_of_copies(arrays, 3);
}

}  // namespace kgen_batch_stats_pixels

extern "C" int batch_stats_pixels_launch(const kgen_array* image_array,
                                         const kgen_array* mu_array,
                                         const kgen_array* sigma2_array,
                                         void* workspace,
                                         size_t workspace_bytes,
                                         cudaStream_t stream)
{
    using namespace kgen_batch_stats_pixels;
    const kgen_array* const given[] = {image_array, mu_array, sigma2_array};
    Array arrays[3];
    Choice choices[1] = {};
    int status = decide(given, arrays, choices);
    if (status == KGEN_SUCCESS) {
        status = check_workspace(workspace, workspace_bytes, workspace_of(arrays, choices));
    }
    if (status != KGEN_SUCCESS) return status;
    char* memory = static_cast<char*>(workspace);
    status = copy_unaligned(arrays, 3, &memory, stream);
    if (status != KGEN_SUCCESS) return status;
    const Arguments a = {
        reinterpret_cast<const unsigned char*>(arrays[0].address),
        reinterpret_cast<float*>(arrays[1].address),
        reinterpret_cast<float*>(arrays[2].address),
        memory,
        stream,
    };
    for (const Choice& choice : choices) {
        if (status == KGEN_SUCCESS && choice.launch != nullptr) status = choice.launch(a, choice.space);
    }
    if (status == KGEN_SUCCESS) status = copy_back(arrays, OPERANDS, 3, stream);
    return status;
}

extern "C" int batch_stats_pixels_workspace_size(const kgen_array* image_array,
                                                 const kgen_array* mu_array,
                                                 const kgen_array* sigma2_array,
                                                 size_t* bytes)
{
    using namespace kgen_batch_stats_pixels;
    const kgen_array* const given[] = {image_array, mu_array, sigma2_array};
    Array arrays[3];
    Choice choices[1] = {};
    const int status = decide(given, arrays, choices);
    *bytes = status == KGEN_SUCCESS ? workspace_of(arrays, choices) : 0;
    return status;
}

extern "C" const char* batch_stats_pixels_error_string(int status)
{
    using namespace kgen_batch_stats_pixels;
    return message_of(status, OPERANDS, 3);
}

#endif
