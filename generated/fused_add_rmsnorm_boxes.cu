// Made by kgen 0.1.0 from fused_add_rmsnorm.k. Do not edit; remake it with
//     kgen compile fused_add_rmsnorm.k -o fused_add_rmsnorm_boxes.cu --dtype residual=bf16,x=bf16,weight=bf16 --shape residual=64x1024x320,x=64x1024x320,weight=320 --strides residual=327680x1x1024 --name fused_add_rmsnorm_boxes
//
//     # Adds a layer's output to the residual stream and normalises the sum, in one kernel that reads and writes each array
//     # once.  y is computed from the sum as it is stored.
//     inout residual
//     input x, weight
//     param eps = 1e-6
//     residual = residual + x
//     y = residual * rsqrt(mean(residual * residual, axis=-1, keepdims=true) + eps) * weight
//
// Inputs:  x: bfloat16, weight: bfloat16, residual: bfloat16 (updated in place), eps: float32 (by value)
// Outputs: y: bfloat16
//
// Chosen: boxes of columns: `x` is consecutive along another dimension, read in
//         that order by boxes of 32 columns, all 320 elements of each.
// Chosen: 64 threads share each group of 4 columns and keep it in registers: one pass over memory.
// Chosen: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_bf16.h>

namespace kgen_fused_add_rmsnorm_boxes {

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

// A sum of floats, or of their squares.
template <typename T>
struct Sum {
    T sum;

    static __device__ __forceinline__ Sum identity() { return {0}; }

    __device__ __forceinline__ void add(T x) { sum += x; }
    __device__ __forceinline__ void merge(const Sum& other) { sum += other.sum; }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ Sum shuffle_xor(int d) const { return {__shfl_xor_sync(0xffffffffu, sum, d)}; }

    template <typename Count>
    __device__ __forceinline__ T mean(Count count) const { return sum / (T)count; }
};

// Accumulates one element into mean.
static __device__ __forceinline__ void
fused_add_rmsnorm_boxes_pass(const __nv_bfloat16 residual_v,
                             const __nv_bfloat16 x_v,
                             Sum<float>& mean_acc)
{
    // residual = residual + x
    const float t = to_float(__float2bfloat16_rn(to_float(residual_v) + to_float(x_v)));
    // y = residual * rsqrt(mean(residual * residual, axis=-1, keepdims=true) + eps) * weight
    mean_acc.add(t * t);
}

// One element of residual and y.
static __device__ __forceinline__ void
fused_add_rmsnorm_boxes_element(const __nv_bfloat16 residual_v,
                                const __nv_bfloat16 x_v,
                                const __nv_bfloat16 weight_v,
                                const float rsqrt_v,
                                __nv_bfloat16& residual_new,
                                __nv_bfloat16& y_v)
{
    // residual = residual + x
    const __nv_bfloat16 residual_out = __float2bfloat16_rn(to_float(residual_v) + to_float(x_v));
    residual_new = residual_out;
    // y = residual * rsqrt(mean(residual * residual, axis=-1, keepdims=true) + eps) * weight
    y_v = __float2bfloat16_rn(to_float(residual_out) * rsqrt_v * to_float(weight_v));
}

// Where the columns lie; strides and steps in elements.
struct fused_add_rmsnorm_boxes_columns_regs320_boxes_32_layout {
    long long residual_stride;  // of the other kept dimensions
    int height;  // elements of a column
    int columns;
    int residual_step;  // down a column
    int y_step;  // down a column
    int x_step[2];  // down a column, then across
    int weight_step;  // down a column
    unsigned int extent;  // of boxes
    unsigned int magic;  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int shift;  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
};

// Boxes of 32 columns, one a block, up to 320 elements of each, kept in registers: 64 threads for each.
// Read along another dimension than across columns, by way of shared memory: x.
// Launch: a block of 512 threads for each box.
// Limits: fewer than 2^31 columns, and every offset in bytes below 2^31.
// Alignment, in bytes: 8 for residual and y.
// Columns are a multiple of 4.
// No other operand may overlap residual and y in memory.
extern "C" __global__ void __launch_bounds__(512)
fused_add_rmsnorm_boxes_columns_regs320_boxes_32(__nv_bfloat16* __restrict__ residual_ptr,
                                                 const __nv_bfloat16* x_ptr,
                                                 const __nv_bfloat16* weight_ptr,
                                                 __nv_bfloat16* __restrict__ y_ptr,
                                                 const float eps_v,
                                                 const fused_add_rmsnorm_boxes_columns_regs320_boxes_32_layout layout)
{
    // Rows are padded, so that neighbouring ones begin in different banks.
    alignas(4) __shared__ __nv_bfloat16 x_tile[320][34];
    const int across = threadIdx.x % 8;  // among the threads across columns
    const int down = threadIdx.x / 8;  // among the threads that share each column
    const unsigned int q0 = (__umulhi(blockIdx.x, layout.magic) + blockIdx.x) >> layout.shift;
    const int b0 = (int)(blockIdx.x - q0 * layout.extent);
    const int b1 = (int)q0;
    // Threads beyond the last column have the last one once more, and store nothing.
    const int columns_begin = 32 * b0;
    const int column_lane = 4 * across;
    const int column = min(columns_begin + column_lane, layout.columns - 4);
    const int c1 = b1;
    const bool live = columns_begin + column_lane < layout.columns;
    __nv_bfloat16* const residual_column = residual_ptr + column + c1 * layout.residual_stride;
    __nv_bfloat16* const y_column = y_ptr + column + c1 * layout.residual_stride;
    const int x_own = threadIdx.x % 32;
    const int x_line = threadIdx.x / 32;
    const __nv_bfloat16* const x_box = x_ptr + c1 * layout.residual_stride;
    wait_for_earlier_kernels();

    // All loads are issued before any is waited for, each in the order of its operand.
    __nv_bfloat16 x_in[20];
    #pragma unroll
    for (int k = 0; k < 20; ++k) {
        const int x = min(columns_begin + x_line + 16 * (k / 10), layout.columns - 1);
        const int d = min(x_own + 32 * (k % 10), layout.height - 1);
        x_in[k] = x_box[x * layout.x_step[1] + d * layout.x_step[0]];
    }

    Pack<__nv_bfloat16, 4, 8> residual_vec[5];
    #pragma unroll
    for (int v = 0; v < 5; ++v) {
        const int i = v * 64 + down;
        if (i < layout.height) {
            residual_vec[v] =
                *reinterpret_cast<const Pack<__nv_bfloat16, 4, 8>*>(residual_column + i * layout.residual_step);
        }
    }
    #pragma unroll
    for (int k = 0; k < 20; ++k) {
        x_tile[x_own + 32 * (k % 10)][x_line + 16 * (k / 10)] = x_in[k];
    }
    __syncthreads();

    __shared__ Sum<float> mean_warp_partials[512];
    Sum<float> mean_acc[4];
    float rsqrt_v[4];
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        mean_acc[j] = Sum<float>::identity();
    }
    #pragma unroll
    for (int v = 0; v < 5; ++v) {
        const int i = v * 64 + down;
        if (v < 4 || i < layout.height) {
            keep_packed(residual_vec[v]);
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                fused_add_rmsnorm_boxes_pass(extract(residual_vec[v], j), x_tile[i][column_lane + j],
                                             mean_acc[j]);
            }
        }
    }

    // Threads that share columns merge their states in shared memory; one thread merges each column.
    #pragma unroll
    for (int d = 16; d >= 8; d /= 2) {
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            mean_acc[j].merge(mean_acc[j].shuffle_xor(d));
        }
    }
    if (threadIdx.x % 32 < 8) {
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            mean_warp_partials[(threadIdx.x / 32 * 4 + j) * 8 + across] = mean_acc[j];
        }
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        const int c = threadIdx.x;
        auto mean_whole = mean_warp_partials[c];
        #pragma unroll 8
        for (int n = 1; n < 16; ++n) {
            mean_whole.merge(mean_warp_partials[c + n * 32]);
        }
        mean_warp_partials[c] = mean_whole;
    }
    __syncthreads();
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        mean_acc[j] = mean_warp_partials[j * 8 + across];
        const float mean_v = mean_acc[j].mean(layout.height);
        // y = residual * rsqrt(mean(residual * residual, axis=-1, keepdims=true) + eps) * weight
        rsqrt_v[j] = rsqrtf(mean_v + eps_v);
    }

    if (!live) {
        return;
    }

    #pragma unroll
    for (int v = 0; v < 5; ++v) {
        const int i = v * 64 + down;
        if (v < 4 || i < layout.height) {
            keep_packed(residual_vec[v]);
            const __nv_bfloat16 weight_in = weight_ptr[i * layout.weight_step];
            Pack<__nv_bfloat16, 4, 8> residual_newvec;
            Pack<__nv_bfloat16, 4, 8> y_vec;
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                fused_add_rmsnorm_boxes_element(extract(residual_vec[v], j), x_tile[i][column_lane + j],
                                                weight_in, rsqrt_v[j], residual_newvec.at[j],
                                                y_vec.at[j]);
            }
            *reinterpret_cast<Pack<__nv_bfloat16, 4, 8>*>(residual_column + i * layout.residual_step) = residual_newvec;
            *reinterpret_cast<Pack<__nv_bfloat16, 4, 8>*>(y_column + i * layout.y_step) = y_vec;
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_fused_add_rmsnorm_boxes

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

namespace kgen_fused_add_rmsnorm_boxes {

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

static long long kgen_shift(long long d)
{
    long long bits = 0;
    for (long long rest = d > 1 ? d - 1 : 0; rest > 0; rest /= 2) ++bits;
    return bits;
}

static long long kgen_magic(long long d)
{
    const unsigned long long divisor = d > 1 ? d : 1, power = 1ull << kgen_shift(d);
    return (long long)((((power - divisor) << 32) / divisor + 1) & 0xffffffffull);
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
    __nv_bfloat16* residual_ptr;
    const __nv_bfloat16* x_ptr;
    const __nv_bfloat16* weight_ptr;
    __nv_bfloat16* y_ptr;
    float eps_v;
    cudaStream_t stream;
};

static int launch_fused_add_rmsnorm_boxes_columns_regs320_boxes_32(const Arguments& a, const Space& space)
{
    const long long* const shape = space.shape;
    const auto& strides = space.strides;
    const long long width = shape[0];
    const long long row_blocks = kgen_ceil_div(shape[1], 32) * shape[2];
    const fused_add_rmsnorm_boxes_columns_regs320_boxes_32_layout layout = {
        (shape[2] != 1) ? strides[0][2] : 0,
        (int)width,
        (int)shape[1],
        (int)((shape[0] > 1) ? strides[0][0] : 0),
        (int)((shape[0] > 1) ? strides[1][0] : 0),
        {(int)((shape[0] > 1) ? strides[2][0] : 0), (int)((shape[1] > 1) ? strides[2][1] : 0)},
        (int)((shape[0] > 1) ? strides[3][0] : 0),
        (unsigned int)kgen_ceil_div(shape[1], 32),
        (unsigned int)kgen_magic(kgen_ceil_div(shape[1], 32)),
        (unsigned int)kgen_shift(kgen_ceil_div(shape[1], 32)),
    };
    return launch(fused_add_rmsnorm_boxes_columns_regs320_boxes_32, row_blocks, 1, 512, true, a.stream,
                  a.residual_ptr, a.x_ptr, a.weight_ptr, a.y_ptr, a.eps_v, layout);
}

const Operand OPERANDS[] = {
    {"residual", KGEN_BFLOAT16, 3, true},
    {"x", KGEN_BFLOAT16, 3, false},
    {"weight", KGEN_BFLOAT16, 1, false},
    {"y", KGEN_BFLOAT16, 3, true},
};

// What a call launches for one kernel of the program: nothing where there is nothing to compute.
struct Choice {
    int (*launch)(const Arguments&, const Space&);
    Space space;
};

// Checks the arrays, and that they have the layouts that the kernels are for, and decides on the kernels.
static int decide(const kgen_array* const* given, Array* arrays, Choice* choices)
{
    int status = read_arrays(given, OPERANDS, 4, arrays);
    if (status == KGEN_SUCCESS) status = check_layout(arrays[0], 1, {64, 1024, 320}, {327680, 1, 1024});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[1], 2, {64, 1024, 320}, {327680, 320, 1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[2], 3, {320}, {1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[3], 4, {64, 1024, 320}, {327680, 1, 1024});
    if (status != KGEN_SUCCESS || (arrays[0].size == 0 && arrays[3].size == 0)) return status;
    choices[0].launch = launch_fused_add_rmsnorm_boxes_columns_regs320_boxes_32;
    choices[0].space = {3, {320, 1024, 64}, {{1024, 1, 327680}, {1024, 1, 327680}, {1, 320, 327680}, {1, 0, 0}}};
    return mark_unaligned(arrays, OPERANDS, {0, 1, 2, 3});
}

// The bytes of a call: copies of unaligned arrays, buffers between kernels, then scratch memory, which these share.
static size_t workspace_of(const Array* arrays)
{
    return bytes_of_copies(arrays, 4);
}

}  // namespace kgen_fused_add_rmsnorm_boxes

extern "C" int fused_add_rmsnorm_boxes_launch(const kgen_array* residual_array,
                                              const kgen_array* x_array,
                                              const kgen_array* weight_array,
                                              const kgen_array* y_array,
                                              double eps_value,
                                              void* workspace,
                                              size_t workspace_bytes,
                                              cudaStream_t stream)
{
    using namespace kgen_fused_add_rmsnorm_boxes;
    const kgen_array* const given[] = {residual_array, x_array, weight_array, y_array};
    Array arrays[4];
    Choice choices[1] = {};
    int status = decide(given, arrays, choices);
    if (status == KGEN_SUCCESS) {
        status = check_workspace(workspace, workspace_bytes, workspace_of(arrays));
    }
    if (status != KGEN_SUCCESS) return status;
    char* memory = static_cast<char*>(workspace);
    status = copy_unaligned(arrays, 4, &memory, stream);
    if (status != KGEN_SUCCESS) return status;
    const Arguments a = {
        reinterpret_cast<__nv_bfloat16*>(arrays[0].address),
        reinterpret_cast<const __nv_bfloat16*>(arrays[1].address),
        reinterpret_cast<const __nv_bfloat16*>(arrays[2].address),
        reinterpret_cast<__nv_bfloat16*>(arrays[3].address),
        (float)eps_value,
        stream,
    };
    for (const Choice& choice : choices) {
        if (status == KGEN_SUCCESS && choice.launch != nullptr) status = choice.launch(a, choice.space);
    }
    if (status == KGEN_SUCCESS) status = copy_back(arrays, OPERANDS, 4, stream);
    return status;
}

extern "C" int fused_add_rmsnorm_boxes_workspace_size(const kgen_array* residual_array,
                                                      const kgen_array* x_array,
                                                      const kgen_array* weight_array,
                                                      const kgen_array* y_array,
                                                      size_t* bytes)
{
    using namespace kgen_fused_add_rmsnorm_boxes;
    const kgen_array* const given[] = {residual_array, x_array, weight_array, y_array};
    Array arrays[4];
    Choice choices[1] = {};
    const int status = decide(given, arrays, choices);
    *bytes = status == KGEN_SUCCESS ? workspace_of(arrays) : 0;
    return status;
}

extern "C" const char* fused_add_rmsnorm_boxes_error_string(int status)
{
    using namespace kgen_fused_add_rmsnorm_boxes;
    return message_of(status, OPERANDS, 4);
}

#endif
