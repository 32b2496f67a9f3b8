// Made by kgen 0.1.0 from axpy.k. Do not edit; remake it with
//     kgen compile axpy.k -o axpy_reversed.cu --dtype x=f16,y=f16 --shape x=26x5000x8x32,y=26x5000x8x32 --strides y=1x26x130000x1040000 --name axpy_reversed
//
//     # BLAS's axpy: the shortest kernel that is worth having.
//     param a: float = 2.0
//     out = a * x + y
//
// Inputs:  x: float16, y: float16, a: float32 (by value)
// Outputs: out: float32
//
// Chosen: boxes: `y` is consecutive along another dimension, read in that order by boxes of 64 x 64.
// Chosen: 32-bit indices: every byte offset is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_fp16.h>

namespace kgen_axpy_reversed {

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

// Makes what is loaded opaque to the compiler, which would convert it in the branch of its load, and so wait for each
// load before the next.
template <typename T>
static __device__ __forceinline__ void keep_loaded([[maybe_unused]] T& x)
{
#if defined(__CUDA_ARCH__)
    if constexpr (sizeof(T) % 4 == 0) {
        unsigned int* const words = reinterpret_cast<unsigned int*>(&x);
        #pragma unroll
        for (int w = 0; w < (int)sizeof(T) / 4; ++w) {
            asm volatile("" : "+r"(words[w]));
        }
    } else if constexpr (sizeof(T) == 2) {
        asm volatile("" : "+h"(reinterpret_cast<unsigned short&>(x)));
    } else {
        unsigned int byte = reinterpret_cast<unsigned char&>(x);
        asm volatile("" : "+r"(byte));
        reinterpret_cast<unsigned char&>(x) = (unsigned char)byte;
    }
#endif
}

// One element: out = a * x + y
static __device__ __forceinline__ void
axpy_reversed_element(const __half x_v, const __half y_v, const float a_v, float& out_v)
{
    out_v = a_v * __half2float(x_v) + __half2float(y_v);
}

// Where the elements lie: 4 dimensions, those of the sides first; strides in elements.
struct axpy_reversed_boxes_64x64_4d_layout {
    int width;  // elements along the fastest dimension
    int height;  // elements along the second side
    unsigned int extent;  // of boxes
    unsigned int magic;  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int shift;  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
    unsigned int width_extent;  // of the dimensions along the width
    unsigned int width_magic;  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int width_shift;  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
    unsigned int height_extent;  // of the dimensions along the height
    unsigned int height_magic;  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int height_shift;  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
    int out_stride[2];  // of out and x
    int y_stride[3];
};

// Boxes of 64 x 64 elements, one a block; y read along another side than the output, by way of shared memory.
// Launch: a block of 256 threads for each box, along the fastest dimension first.
// Limits: fewer than 2^31 elements, and every offset in bytes below 2^31.
// Moved by aligned groups of 2 elements: out and x.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
axpy_reversed_boxes_64x64_4d(const __half* x_ptr,
                             const __half* y_ptr,
                             float* __restrict__ out_ptr,
                             const float a_v,
                             const axpy_reversed_boxes_64x64_4d_layout layout)
{
    // Rows are padded, so that neighbouring ones begin in different banks.
    alignas(4) __shared__ __half y_tile[64][66];

    const unsigned int t = blockIdx.x;
    const unsigned int rest0 = (__umulhi(t, layout.magic) + t) >> layout.shift;
    const int c0 = (int)(t - rest0 * layout.extent);
    const int c1 = (int)rest0;
    const int p_first = 64 * c0;
    const int q_first = 64 * c1;
    const bool whole_p = layout.width - p_first >= 64;  // no group of the box is cut off along this side
    const bool whole_q = layout.height - q_first >= 64;  // no group of the box is cut off along this side
    wait_for_earlier_kernels();
    // All loads are issued before any is waited for, each in the order of its operand.
    Pack<__half, 2, 4> y_in[8];
    {
        const int v = 2 * (threadIdx.x % 32);
        const int u = threadIdx.x / 32;
        const int q = q_first + v;
        const int y_from = q * layout.y_stride[2];
        if (q < layout.height && whole_p) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                const int p = p_first + u + 8 * k;
                const unsigned int p_rest0 = (__umulhi(p, layout.width_magic) + p) >> layout.width_shift;
                const int p0 = (int)(p - p_rest0 * layout.width_extent);
                const int p1 = (int)p_rest0;
                const int y_at = p0 * layout.y_stride[0] + p1 * layout.y_stride[1];
                y_in[k] = *reinterpret_cast<const Pack<__half, 2, 4>*>(y_ptr + (y_from + y_at));
            }
        } else if (q < layout.height) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                const int p = p_first + u + 8 * k;
                if (p < layout.width) {
                    const unsigned int p_rest0 = (__umulhi(p, layout.width_magic) + p) >> layout.width_shift;
                    const int p0 = (int)(p - p_rest0 * layout.width_extent);
                    const int p1 = (int)p_rest0;
                    const int y_at = p0 * layout.y_stride[0] + p1 * layout.y_stride[1];
                    y_in[k] = *reinterpret_cast<const Pack<__half, 2, 4>*>(y_ptr + (y_from + y_at));
                }
            }
        }
    }
    Pack<__half, 2, 4> x_in[8];
    {
        const int u = 2 * (threadIdx.x % 32);
        const int v = threadIdx.x / 32;
        const int p = p_first + u;
        const int x_from = p;
        if (p < layout.width && whole_q) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                const int q = q_first + v + 8 * k;
                const unsigned int q_rest0 = (__umulhi(q, layout.height_magic) + q) >> layout.height_shift;
                const int q0 = (int)(q - q_rest0 * layout.height_extent);
                const int q1 = (int)q_rest0;
                const int out_at = q0 * layout.out_stride[0] + q1 * layout.out_stride[1];
                x_in[k] = *reinterpret_cast<const Pack<__half, 2, 4>*>(x_ptr + (x_from + out_at));
            }
        } else if (p < layout.width) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                const int q = q_first + v + 8 * k;
                if (q < layout.height) {
                    const unsigned int q_rest0 = (__umulhi(q, layout.height_magic) + q) >> layout.height_shift;
                    const int q0 = (int)(q - q_rest0 * layout.height_extent);
                    const int q1 = (int)q_rest0;
                    const int out_at = q0 * layout.out_stride[0] + q1 * layout.out_stride[1];
                    x_in[k] = *reinterpret_cast<const Pack<__half, 2, 4>*>(x_ptr + (x_from + out_at));
                }
            }
        }
    }
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
        keep_loaded(y_in[k]);
    }
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
        keep_loaded(x_in[k]);
    }
    {
        const int v = 2 * (threadIdx.x % 32);
        const int u = threadIdx.x / 32;
        #pragma unroll
        for (int k = 0; k < 8; ++k) {
            #pragma unroll
            for (int j = 0; j < 2; ++j) {
                y_tile[v + j][u + 8 * k] = y_in[k].at[j];
            }
        }
    }
    __syncthreads();

    {
        const int u = 2 * (threadIdx.x % 32);
        const int v = threadIdx.x / 32;
        const int p = p_first + u;
        const int out_from = p;
        if (p < layout.width && whole_q) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                const int q = q_first + v + 8 * k;
                const unsigned int q_rest0 = (__umulhi(q, layout.height_magic) + q) >> layout.height_shift;
                const int q0 = (int)(q - q_rest0 * layout.height_extent);
                const int q1 = (int)q_rest0;
                const int out_at = q0 * layout.out_stride[0] + q1 * layout.out_stride[1];
                const auto y_vec = *reinterpret_cast<const Pack<__half, 2, 4>*>(&y_tile[v + 8 * k][u]);
                Pack<float, 2, 8> out_vec;
                #pragma unroll
                for (int j = 0; j < 2; ++j) {
                    axpy_reversed_element(x_in[k].at[j], y_vec.at[j], a_v, out_vec.at[j]);
                }
                *reinterpret_cast<Pack<float, 2, 8>*>(out_ptr + (out_from + out_at)) = out_vec;
            }
        } else if (p < layout.width) {
            #pragma unroll
            for (int k = 0; k < 8; ++k) {
                const int q = q_first + v + 8 * k;
                if (q < layout.height) {
                    const unsigned int q_rest0 = (__umulhi(q, layout.height_magic) + q) >> layout.height_shift;
                    const int q0 = (int)(q - q_rest0 * layout.height_extent);
                    const int q1 = (int)q_rest0;
                    const int out_at = q0 * layout.out_stride[0] + q1 * layout.out_stride[1];
                    const auto y_vec = *reinterpret_cast<const Pack<__half, 2, 4>*>(&y_tile[v + 8 * k][u]);
                    Pack<float, 2, 8> out_vec;
                    #pragma unroll
                    for (int j = 0; j < 2; ++j) {
                        axpy_reversed_element(x_in[k].at[j], y_vec.at[j], a_v, out_vec.at[j]);
                    }
                    *reinterpret_cast<Pack<float, 2, 8>*>(out_ptr + (out_from + out_at)) = out_vec;
                }
            }
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_axpy_reversed

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

#define KGEN_FLOAT16 {2, 16, 1}
#define KGEN_FLOAT32 {2, 32, 1}

namespace kgen_axpy_reversed {

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

// 2^bits * (2^shift - divisor) / divisor + 1, in as many bits as a number has.
template <typename Count>
static Count magic_of(unsigned long long divisor)
{
    unsigned long long rest = (1ull << kgen_shift(divisor)) - divisor, quotient = 0;
    for (unsigned int bit = 0; bit < 8 * sizeof(Count); ++bit) {
        rest *= 2;
        quotient = 2 * quotient + (rest >= divisor ? 1 : 0);
        rest -= rest >= divisor ? divisor : 0;
    }
    return (Count)(quotient + 1);
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
    const __half* x_ptr;
    const __half* y_ptr;
    float* out_ptr;
    float a_v;
    cudaStream_t stream;
};

static int launch_axpy_reversed_boxes_64x64_4d(const Arguments& a, const Space& space)
{
    const long long* const shape = space.shape;
    const auto& strides = space.strides;
    const long long n = kgen_ceil_div(shape[0] * shape[1], 64) * kgen_ceil_div(shape[2] * shape[3], 64);
    axpy_reversed_boxes_64x64_4d_layout layout;
    layout.width = (int)(shape[0] * shape[1]);
    layout.height = (int)(shape[2] * shape[3]);
    layout.extent = (unsigned int)kgen_ceil_div(shape[0] * shape[1], 64);
    layout.magic = magic_of<unsigned int>(layout.extent);
    layout.shift = (unsigned int)kgen_shift(layout.extent);
    layout.width_extent = (unsigned int)shape[0];
    layout.width_magic = (unsigned int)kgen_magic(shape[0]);
    layout.width_shift = (unsigned int)kgen_shift(shape[0]);
    layout.height_extent = (unsigned int)shape[2];
    layout.height_magic = (unsigned int)kgen_magic(shape[2]);
    layout.height_shift = (unsigned int)kgen_shift(shape[2]);
    for (int d = 0; d < 2; ++d) {
        layout.out_stride[d] = (int)((shape[d + 2] != 1) ? strides[0][d + 2] : 0);
    }
    for (int d = 0; d < 3; ++d) {
        layout.y_stride[d] = (int)((shape[d] != 1) ? strides[2][d] : 0);
    }
    return launch(axpy_reversed_boxes_64x64_4d, n, 1, 256, true, a.stream,
                  a.x_ptr, a.y_ptr, a.out_ptr, a.a_v, layout);
}

const Operand OPERANDS[] = {
    {"x", KGEN_FLOAT16, 4, false},
    {"y", KGEN_FLOAT16, 4, false},
    {"out", KGEN_FLOAT32, 4, true},
};

// What a call launches for one kernel of the program: nothing where there is nothing to compute.
struct Choice {
    int (*launch)(const Arguments&, const Space&);
    Space space;
};

// Checks the arrays, and that they have the layouts that the kernels are for, and decides on the kernels.
static int decide(const kgen_array* const* given, Array* arrays, Choice* choices)
{
    int status = read_arrays(given, OPERANDS, 3, arrays);
    if (status == KGEN_SUCCESS) status = check_layout(arrays[0], 1, {26, 5000, 8, 32}, {1280000, 256, 32, 1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[1], 2, {26, 5000, 8, 32}, {1, 26, 130000, 1040000});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[2], 3, {26, 5000, 8, 32}, {1280000, 256, 32, 1});
    if (status != KGEN_SUCCESS || arrays[2].size == 0) return status;
    choices[0].launch = launch_axpy_reversed_boxes_64x64_4d;
    choices[0].space = {4, {32, 8, 26, 5000}, {{1, 32, 1280000, 256}, {1, 32, 1280000, 256}, {1040000, 130000, 1, 26}}};
    return mark_unaligned(arrays, OPERANDS, {0, 1, 2});
}

// The bytes of a call: copies of unaligned arrays, buffers between kernels, then scratch memory, which these share.
static size_t workspace_of(const Array* arrays)
{
    return bytes_of_copies(arrays, 3);
}

}  // namespace kgen_axpy_reversed

extern "C" int axpy_reversed_launch(const kgen_array* x_array,
                                    const kgen_array* y_array,
                                    const kgen_array* out_array,
                                    double a_value,
                                    void* workspace,
                                    size_t workspace_bytes,
                                    cudaStream_t stream)
{
    using namespace kgen_axpy_reversed;
    const kgen_array* const given[] = {x_array, y_array, out_array};
    Array arrays[3];
    Choice choices[1] = {};
    int status = decide(given, arrays, choices);
    if (status == KGEN_SUCCESS) {
        status = check_workspace(workspace, workspace_bytes, workspace_of(arrays));
    }
    if (status != KGEN_SUCCESS) return status;
    char* memory = static_cast<char*>(workspace);
    status = copy_unaligned(arrays, 3, &memory, stream);
    if (status != KGEN_SUCCESS) return status;
    const Arguments a = {
        reinterpret_cast<const __half*>(arrays[0].address),
        reinterpret_cast<const __half*>(arrays[1].address),
        reinterpret_cast<float*>(arrays[2].address),
        (float)a_value,
        stream,
    };
    for (const Choice& choice : choices) {
        if (status == KGEN_SUCCESS && choice.launch != nullptr) status = choice.launch(a, choice.space);
    }
    if (status == KGEN_SUCCESS) status = copy_back(arrays, OPERANDS, 3, stream);
    return status;
}

extern "C" int axpy_reversed_workspace_size(const kgen_array* x_array,
                                            const kgen_array* y_array,
                                            const kgen_array* out_array,
                                            size_t* bytes)
{
    using namespace kgen_axpy_reversed;
    const kgen_array* const given[] = {x_array, y_array, out_array};
    Array arrays[3];
    Choice choices[1] = {};
    const int status = decide(given, arrays, choices);
    *bytes = status == KGEN_SUCCESS ? workspace_of(arrays) : 0;
    return status;
}

extern "C" const char* axpy_reversed_error_string(int status)
{
    using namespace kgen_axpy_reversed;
    return message_of(status, OPERANDS, 3);
}

#endif
