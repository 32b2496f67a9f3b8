// Made by kgen 0.1.0 from layernorm.k. Do not edit; remake it with
//     kgen compile layernorm.k -o layernorm_channels.cu --dtype x=bf16,weight=bf16,bias=bf16 --shape x=256x3136x96,weight=96,bias=96 --strides x=301056x1x3136 --name layernorm_channels
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
// Chosen: columns: rows of 96 elements lie side by side in memory; 16 threads go across groups of 8 columns, 16
//         threads share each and keep it in registers, 6 elements of a column each: one pass over memory.
// Chosen: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_bf16.h>

namespace kgen_layernorm_channels {

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

// Makes an address in global memory opaque to the compiler, which would add places first, and then each of them to the
// address of the array: several instructions for each load, which it may move behind arithmetic.
template <typename T>
static __device__ __forceinline__ T* keep_address(T* p)
{
#if defined(__CUDA_ARCH__)
    const void* address = p;  // NVVM compiles no assumption about a pointer to a struct
    asm("" : "+l"(address));
    __builtin_assume(__isGlobal(address));
    p = (T*)address;
#endif
    return p;
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
layernorm_channels_pass1(const __nv_bfloat16 x_v, Sum<float>& mean_acc)
{
    // let d = x - mean(x, axis=-1, keepdims=true)
    mean_acc.add(to_float(x_v));
}

// Accumulates one element into mean2.
static __device__ __forceinline__ void
layernorm_channels_pass2(const __nv_bfloat16 x_v, const float mean_v, Sum<float>& mean2_acc)
{
    // let d = x - mean(x, axis=-1, keepdims=true)
    const float d_v = to_float(x_v) - mean_v;
    // y = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + eps) * weight + bias
    mean2_acc.add(d_v * d_v);
}

// One element of y.
static __device__ __forceinline__ void
layernorm_channels_element(const __nv_bfloat16 x_v,
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

// Where the columns lie; strides and steps in elements.
struct layernorm_channels_columns_regs96_layout {
    long long y_stride;  // of the other kept dimensions
    int height;  // elements of a column
    unsigned int groups;  // of 8 neighbouring columns
    int y_step;  // down a column
    int x_step;  // down a column
    int weight_step;  // down a column
    int bias_step;  // down a column
    unsigned int extent;  // of groups of columns
    unsigned int magic;  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int shift;  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
};

// Columns of 81 to 96 elements, kept in registers: 128 a block, 8 a thread, 16 threads for each.
// Launch: ceil(groups / 16) blocks of 256 threads.
// Limits: fewer than 2^31 columns, and every place within one, in bytes, below 2^31.
// Alignment, in bytes: 16 for y and x.
// Columns are a multiple of 8.
// No other operand may overlap y in memory.
extern "C" __global__ void __launch_bounds__(256)
layernorm_channels_columns_regs96(const __nv_bfloat16* x_ptr,
                                  const __nv_bfloat16* weight_ptr,
                                  const __nv_bfloat16* bias_ptr,
                                  __nv_bfloat16* __restrict__ y_ptr,
                                  const float eps_v,
                                  const layernorm_channels_columns_regs96_layout layout)
{
    const int across = threadIdx.x % 16;  // among the threads across columns
    const int down = threadIdx.x / 16;  // among the threads that share each column
    const unsigned int first = blockIdx.x * 16u + across;
    const bool live = first < layout.groups;  // other threads compute the first group again, and write nothing
    const unsigned int number = live ? first : 0;  // of a group of columns
    const unsigned int q0 = (__umulhi(number, layout.magic) + number) >> layout.shift;
    const unsigned int c0 = number - q0 * layout.extent;
    const unsigned int c1 = q0;
    const int column = 8 * c0;
    __nv_bfloat16* const y_column = y_ptr + column + c1 * layout.y_stride;
    const __nv_bfloat16* const x_column = keep_address(x_ptr + column + c1 * layout.y_stride);
    wait_for_earlier_kernels();

    Pack<__nv_bfloat16, 8, 16> x_vec[6];
    #pragma unroll
    for (int v = 0; v < 6; ++v) {
        const int i = v * 16 + down;
        if (i < layout.height) {
            x_vec[v] = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(x_column + i * layout.x_step);
        }
    }

    __shared__ Sum<float> mean_warp_partials[1024];
    Sum<float> mean_acc[8];
    float mean_v[8];
    #pragma unroll
    for (int j = 0; j < 8; ++j) {
        mean_acc[j] = Sum<float>::identity();
    }
    #pragma unroll
    for (int v = 0; v < 6; ++v) {
        const int i = v * 16 + down;
        if (v < 5 || i < layout.height) {
            keep_packed(x_vec[v]);
            #pragma unroll
            for (int j = 0; j < 8; ++j) {
                layernorm_channels_pass1(extract(x_vec[v], j), mean_acc[j]);
            }
        }
    }

    // Threads that share columns merge their states in shared memory; one thread merges each column.
    #pragma unroll
    for (int j = 0; j < 8; ++j) {
        mean_acc[j].merge(mean_acc[j].shuffle_xor(16));
    }
    if (threadIdx.x % 32 < 16) {
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            mean_warp_partials[(threadIdx.x / 32 * 8 + j) * 16 + across] = mean_acc[j];
        }
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        const int c = threadIdx.x;
        auto mean_whole = mean_warp_partials[c];
        #pragma unroll
        for (int n = 1; n < 8; ++n) {
            mean_whole.merge(mean_warp_partials[c + n * 128]);
        }
        mean_warp_partials[c] = mean_whole;
    }
    __syncthreads();
    #pragma unroll
    for (int j = 0; j < 8; ++j) {
        mean_acc[j] = mean_warp_partials[j * 16 + across];
        mean_v[j] = mean_acc[j].mean(layout.height);
    }

    __shared__ Sum<float> mean2_warp_partials[1024];
    Sum<float> mean2_acc[8];
    float rsqrt_v[8];
    #pragma unroll
    for (int j = 0; j < 8; ++j) {
        mean2_acc[j] = Sum<float>::identity();
    }
    #pragma unroll
    for (int v = 0; v < 6; ++v) {
        const int i = v * 16 + down;
        if (v < 5 || i < layout.height) {
            keep_packed(x_vec[v]);
            #pragma unroll
            for (int j = 0; j < 8; ++j) {
                layernorm_channels_pass2(extract(x_vec[v], j), mean_v[j], mean2_acc[j]);
            }
        }
    }
    #pragma unroll
    for (int j = 0; j < 8; ++j) {
        mean2_acc[j].merge(mean2_acc[j].shuffle_xor(16));
    }
    if (threadIdx.x % 32 < 16) {
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            mean2_warp_partials[(threadIdx.x / 32 * 8 + j) * 16 + across] = mean2_acc[j];
        }
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        const int c = threadIdx.x;
        auto mean2_whole = mean2_warp_partials[c];
        #pragma unroll
        for (int n = 1; n < 8; ++n) {
            mean2_whole.merge(mean2_warp_partials[c + n * 128]);
        }
        mean2_warp_partials[c] = mean2_whole;
    }
    __syncthreads();
    #pragma unroll
    for (int j = 0; j < 8; ++j) {
        mean2_acc[j] = mean2_warp_partials[j * 16 + across];
        const float mean2_v = mean2_acc[j].mean(layout.height);
        // y = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + eps) * weight + bias
        rsqrt_v[j] = rsqrtf(mean2_v + eps_v);
    }

    if (!live) {
        return;
    }

    #pragma unroll
    for (int v = 0; v < 6; ++v) {
        const int i = v * 16 + down;
        if (v < 5 || i < layout.height) {
            keep_packed(x_vec[v]);
            const __nv_bfloat16 weight_in = weight_ptr[i * layout.weight_step];
            const __nv_bfloat16 bias_in = bias_ptr[i * layout.bias_step];
            Pack<__nv_bfloat16, 8, 16> y_vec;
            #pragma unroll
            for (int j = 0; j < 8; ++j) {
                layernorm_channels_element(extract(x_vec[v], j), weight_in, bias_in, mean_v[j],
                                           rsqrt_v[j], y_vec.at[j]);
            }
            *reinterpret_cast<Pack<__nv_bfloat16, 8, 16>*>(y_column + i * layout.y_step) = y_vec;
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_layernorm_channels

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

namespace kgen_layernorm_channels {

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
    const __nv_bfloat16* x_ptr;
    const __nv_bfloat16* weight_ptr;
    const __nv_bfloat16* bias_ptr;
    __nv_bfloat16* y_ptr;
    float eps_v;
    cudaStream_t stream;
};

static int launch_layernorm_channels_columns_regs96(const Arguments& a, const Space& space)
{
    const long long* const shape = space.shape;
    const auto& strides = space.strides;
    const long long width = shape[0];
    const long long row_blocks = kgen_ceil_div(kgen_ceil_div(shape[1], 8) * shape[2], 16);
    const layernorm_channels_columns_regs96_layout layout = {
        (shape[2] != 1) ? strides[0][2] : 0,
        (int)width,
        (unsigned int)(kgen_ceil_div(shape[1], 8) * shape[2]),
        (int)((shape[0] > 1) ? strides[0][0] : 0),
        (int)((shape[0] > 1) ? strides[1][0] : 0),
        (int)((shape[0] > 1) ? strides[2][0] : 0),
        (int)((shape[0] > 1) ? strides[3][0] : 0),
        (unsigned int)kgen_ceil_div(shape[1], 8),
        (unsigned int)kgen_magic(kgen_ceil_div(shape[1], 8)),
        (unsigned int)kgen_shift(kgen_ceil_div(shape[1], 8)),
    };
    return launch(layernorm_channels_columns_regs96, row_blocks, 1, 256, true, a.stream,
                  a.x_ptr, a.weight_ptr, a.bias_ptr, a.y_ptr, a.eps_v, layout);
}

const Operand OPERANDS[] = {
    {"x", KGEN_BFLOAT16, 3, false},
    {"weight", KGEN_BFLOAT16, 1, false},
    {"bias", KGEN_BFLOAT16, 1, false},
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
    if (status == KGEN_SUCCESS) status = check_layout(arrays[0], 1, {256, 3136, 96}, {301056, 1, 3136});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[1], 2, {96}, {1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[2], 3, {96}, {1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[3], 4, {256, 3136, 96}, {301056, 1, 3136});
    if (status != KGEN_SUCCESS || arrays[3].size == 0) return status;
    choices[0].launch = launch_layernorm_channels_columns_regs96;
    choices[0].space = {3, {96, 3136, 256}, {{3136, 1, 301056}, {3136, 1, 301056}, {1, 0, 0}, {1, 0, 0}}};
    return mark_unaligned(arrays, OPERANDS, {0, 3});
}

// The bytes of a call: copies of unaligned arrays, buffers between kernels, then scratch memory, which these share.
static size_t workspace_of(const Array* arrays)
{
    return bytes_of_copies(arrays, 4);
}

}  // namespace kgen_layernorm_channels

extern "C" int layernorm_channels_launch(const kgen_array* x_array,
                                         const kgen_array* weight_array,
                                         const kgen_array* bias_array,
                                         const kgen_array* y_array,
                                         double eps_value,
                                         void* workspace,
                                         size_t workspace_bytes,
                                         cudaStream_t stream)
{
    using namespace kgen_layernorm_channels;
    const kgen_array* const given[] = {x_array, weight_array, bias_array, y_array};
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
        reinterpret_cast<const __nv_bfloat16*>(arrays[0].address),
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

extern "C" int layernorm_channels_workspace_size(const kgen_array* x_array,
                                                 const kgen_array* weight_array,
                                                 const kgen_array* bias_array,
                                                 const kgen_array* y_array,
                                                 size_t* bytes)
{
    using namespace kgen_layernorm_channels;
    const kgen_array* const given[] = {x_array, weight_array, bias_array, y_array};
    Array arrays[4];
    Choice choices[1] = {};
    const int status = decide(given, arrays, choices);
    *bytes = status == KGEN_SUCCESS ? workspace_of(arrays) : 0;
    return status;
}

extern "C" const char* layernorm_channels_error_string(int status)
{
    using namespace kgen_layernorm_channels;
    return message_of(status, OPERANDS, 4);
}

#endif
