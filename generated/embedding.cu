// Made by kgen 0.1.0 from embedding.k. Do not edit; remake it with
//     kgen compile embedding.k -o embedding.cu --dtype weight=bf16,ids=i64 --shape weight=128256x4096,ids=8192
//
//     # The rows of a table that tokens name.  weight: [words, size]; ids: [tokens].
//     input weight, ids
//     out = weight[ids]
//
// Inputs:  weight: bfloat16, ids: int64
// Outputs: out: bfloat16
//
// Chosen: row batches: 2 groups a thread, because rows of `weight` wait for their places.
// Chosen: 32-bit indices: every byte offset is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_bf16.h>

namespace kgen_embedding {

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

// The extents of an array that is read or written at computed places, and its strides in elements.
template <int Rank>
struct ArrayShape {
    long long extent[Rank];
    long long stride[Rank];
};

// A row at a computed place.  Where it is not inside of its array, elements read as zeros, and none is written.
template <typename T>
struct Row {
    T* start;
    bool inside;
};

// A group of a row at a computed place; zeros, and no access to memory, where that is outside.  Whole words are loaded
// as such: the compiler would choose between each element and zero.
template <typename Group, typename T>
static __device__ __forceinline__ Group load_gathered(const Row<const T>& row, long long i)
{
    const bool has_words = alignof(Group) >= 4;
    struct alignas(has_words ? alignof(Group) : 4) Words {
        unsigned int at[(sizeof(Group) + 3) / 4];
    };
    Words words = {};
    if (has_words && row.inside) {
        words = *reinterpret_cast<const Words*>(row.start + i);
    }
    Group group;
    memcpy(&group, &words, sizeof(group));
    return has_words || !row.inside ? group : *reinterpret_cast<const Group*>(row.start + i);
}

// a + b that wraps: signed overflow is undefined, unsigned is not.
static __device__ __forceinline__ long long wrap_add(long long a, long long b)
{
    return (long long)((unsigned long long)a + (unsigned long long)b);
}

// Whether 0 <= place < extent.
static __device__ __forceinline__ bool is_inside(long long place, long long extent)
{
    return (unsigned long long)place < (unsigned long long)extent;
}

// One element: out = weight[ids]
static __device__ __forceinline__ void
embedding_element(__nv_bfloat16& out_v, const __nv_bfloat16 weight_v)
{
    out_v = weight_v;
}

// The row of weight at a computed place.
static __device__ __forceinline__ void
embedding_weight_row(const long long ids_v,
                     const __nv_bfloat16* weight_ptr,
                     const ArrayShape<2>& weight_shape,
                     Row<const __nv_bfloat16>& weight_row)
{
    const long long weight_place0 = ids_v < 0ll ? wrap_add(ids_v, weight_shape.extent[0]) : ids_v;
    const bool weight_inside = is_inside(weight_place0, weight_shape.extent[0]);
    const long long weight_at = weight_inside ? weight_place0 * weight_shape.stride[0] : 0;
    weight_row = {weight_ptr + weight_at, weight_inside};
}

// Where the elements lie: 2 dimensions, the fastest first; strides in elements.
struct embedding_row_batches_2d_layout {
    unsigned int extent;  // of groups in a row
    unsigned int magic;  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int shift;  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
    int out_stride;
    int ids_stride;
};

// Rows, 2 times 8 elements of a row a thread, a block of threads apart.
// Launch: ceil(n / 256) blocks of 128 threads, for n groups.
// Limits: fewer than 2^31 elements, and every offset in bytes below 2^31.
// Alignment, in bytes: 16 for out.
// One element a row: ids.
// Rows at computed places, whose groups are aligned: weight.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(128)
embedding_row_batches_2d(const __nv_bfloat16* weight_ptr,
                         const long long* ids_ptr,
                         __nv_bfloat16* __restrict__ out_ptr,
                         const ArrayShape<2> weight_shape,
                         const embedding_row_batches_2d_layout layout,
                         const unsigned int n)
{
    const unsigned int first = blockIdx.x * 256u + threadIdx.x;
    if (first >= n) {
        return;
    }
    int i[2];  // the first element of each of this thread's groups
    int out_at[2], ids_at[2];
    long long ids_v[2];
    wait_for_earlier_kernels();
    // All places, then all rows: loads that do not wait for each other.  Threads beyond the last group read it again.
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        const unsigned int t = min(first + 128u * k, n - 1);
        const unsigned int q0 = (__umulhi(t, layout.magic) + t) >> layout.shift;
        const int c0 = (int)(t - q0 * layout.extent);
        const int c1 = (int)q0;
        out_at[k] = c1 * layout.out_stride;
        ids_at[k] = c1 * layout.ids_stride;
        i[k] = 8 * c0;
        ids_v[k] = ids_ptr[ids_at[k]];
    }
    Row<const __nv_bfloat16> weight_row[2];
    Pack<__nv_bfloat16, 8, 16> weight_gathered[2];
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        embedding_weight_row(ids_v[k], weight_ptr, weight_shape, weight_row[k]);
        weight_gathered[k] = load_gathered<Pack<__nv_bfloat16, 8, 16>>(weight_row[k], i[k]);
    }
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        Pack<__nv_bfloat16, 8, 16> out_vec;
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            embedding_element(out_vec.at[j], weight_gathered[k].at[j]);
        }
        if (first + 128u * k < n) {
            *reinterpret_cast<Pack<__nv_bfloat16, 8, 16>*>(out_ptr + out_at[k] + i[k]) = out_vec;
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_embedding

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
#define KGEN_INT64 {0, 64, 1}

namespace kgen_embedding {

// The dimensions that a kernel walks, the fastest first, and the strides of its accesses along them.
constexpr int ACCESSES = 2;
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
    const __nv_bfloat16* weight_ptr;
    const long long* ids_ptr;
    __nv_bfloat16* out_ptr;
    ArrayShape<2> weight_shape;
    cudaStream_t stream;
};

static int launch_embedding_row_batches_2d(const Arguments& a, const Space& space)
{
    const long long* const shape = space.shape;
    const auto& strides = space.strides;
    const long long n = kgen_ceil_div(shape[0], 8) * shape[1];
    const embedding_row_batches_2d_layout layout = {
        (unsigned int)kgen_ceil_div(shape[0], 8),
        (unsigned int)kgen_magic(kgen_ceil_div(shape[0], 8)),
        (unsigned int)kgen_shift(kgen_ceil_div(shape[0], 8)),
        (int)((shape[1] != 1) ? strides[0][1] : 0),
        (int)((shape[1] != 1) ? strides[1][1] : 0),
    };
    return launch(embedding_row_batches_2d, kgen_ceil_div(n, 256), 1, 128, true, a.stream,
                  a.weight_ptr, a.ids_ptr, a.out_ptr, a.weight_shape, layout, (unsigned int)n);
}

const Operand OPERANDS[] = {
    {"weight", KGEN_BFLOAT16, 2, false},
    {"ids", KGEN_INT64, 1, false},
    {"out", KGEN_BFLOAT16, 2, true},
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
    if (status == KGEN_SUCCESS) status = check_layout(arrays[0], 1, {128256, 4096}, {4096, 1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[1], 2, {8192}, {1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[2], 3, {8192, 4096}, {4096, 1});
    if (status != KGEN_SUCCESS || arrays[2].size == 0) return status;
    choices[0].launch = launch_embedding_row_batches_2d;
    choices[0].space = {2, {4096, 8192}, {{1, 4096}, {0, 1}}};
    return mark_unaligned(arrays, OPERANDS, {0, 2});
}

// The bytes of a call: copies of unaligned arrays, buffers between kernels, then scratch memory, which these share.
static size_t workspace_of(const Array* arrays)
{
    return bytes_of_copies(arrays, 3);
}

}  // namespace kgen_embedding

extern "C" int embedding_launch(const kgen_array* weight_array,
                                const kgen_array* ids_array,
                                const kgen_array* out_array,
                                void* workspace,
                                size_t workspace_bytes,
                                cudaStream_t stream)
{
    using namespace kgen_embedding;
    const kgen_array* const given[] = {weight_array, ids_array, out_array};
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
        reinterpret_cast<const __nv_bfloat16*>(arrays[0].address),
        reinterpret_cast<const long long*>(arrays[1].address),
        reinterpret_cast<__nv_bfloat16*>(arrays[2].address),
        {{128256, 4096}, {4096, 1}},
        stream,
    };
    for (const Choice& choice : choices) {
        if (status == KGEN_SUCCESS && choice.launch != nullptr) status = choice.launch(a, choice.space);
    }
    if (status == KGEN_SUCCESS) status = copy_back(arrays, OPERANDS, 3, stream);
    return status;
}

extern "C" int embedding_workspace_size(const kgen_array* weight_array,
                                        const kgen_array* ids_array,
                                        const kgen_array* out_array,
                                        size_t* bytes)
{
    using namespace kgen_embedding;
    const kgen_array* const given[] = {weight_array, ids_array, out_array};
    Array arrays[3];
    Choice choices[1] = {};
    const int status = decide(given, arrays, choices);
    *bytes = status == KGEN_SUCCESS ? workspace_of(arrays) : 0;
    return status;
}

extern "C" const char* embedding_error_string(int status)
{
    using namespace kgen_embedding;
    return message_of(status, OPERANDS, 3);
}

#endif
