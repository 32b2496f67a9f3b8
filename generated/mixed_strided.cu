// Made by kgen 0.1.0 from mixed.k. Do not edit; remake it with
//     kgen compile mixed.k -o mixed_strided.cu --dtype a=f32,b=f32,c=i64 --layout strided --rank 3 --name mixed_strided
//
//     # Mixed dtypes: each operand is read in its own dtype, and the arithmetic is in float32.
//     out = a * b + cast<float>(c)
//
// Inputs:  a: float32, b: float32, c: int64
// Outputs: out: float32
//
// Layout: strided, up to 3 dimensions after merging.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

namespace kgen_mixed_strided {

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

// The coordinates of an element, the fastest first, from its number below 2^(bits - 1).
// x / extent == (high half of x * magic + x) >> shift: no division.
template <int Rank, typename Index, typename Count, typename Layout>
static __device__ __forceinline__ void find_coordinates(Count x, const Layout& layout, Index (&c)[Rank])
{
    if constexpr (Rank > 1) {
        #pragma unroll
        for (int d = 0; d < Rank - 1; ++d) {
            const Count high = sizeof(Count) == 4 ? __umulhi(x, layout.magic[d]) : __umul64hi(x, layout.magic[d]);
            const Count quotient = (high + x) >> layout.shift[d];
            c[d] = (Index)(x - quotient * layout.extent[d]);
            x = quotient;
        }
    }
    c[Rank - 1] = (Index)x;
}

// The offset of coordinates from dimension First on.  There are strides for the slowest dimensions, or for all.
template <int First, int Rank, int Slowest, typename Index>
static __device__ __forceinline__ Index offset_of(const Index (&c)[Rank], const Index (&strides)[Slowest])
{
    Index offset = 0;
    #pragma unroll
    for (int d = First; d < Rank; ++d) {
        offset += c[d] * strides[d - (Rank - Slowest)];
    }
    return offset;
}

// One element: out = a * b + cast<float>(c)
static __device__ __forceinline__ void
mixed_strided_element(const float a_v, const float b_v, const long long c_v, float& out_v)
{
    out_v = a_v * b_v + (float)c_v;
}

// Where the elements lie: Rank dimensions, the fastest first; strides in elements.
template <int Rank, typename Index, typename Count>
struct mixed_strided_strided_any_layout {
    Count extent[Rank - 1];  // of all but the slowest dimension
    Count magic[Rank - 1];  // 2^bits * (2^shift - extent) / extent + 1, in integers
    Count shift[Rank - 1];  // ceil(log2(extent))
    Index out_stride[Rank];
    Index a_stride[Rank];
    Index b_stride[Rank];
    Index c_stride[Rank];
};

// 2 elements a thread, 128 apart, over Rank dimensions: out, a, b and c at any strides.
// Launch: ceil(n / 256) blocks of 128 threads, for n elements.
// No other operand may overlap out in memory.
template <int Rank, typename Index, typename Count>
static __device__ __forceinline__ void
mixed_strided_strided_any(const float* a_ptr,
                          const float* b_ptr,
                          const long long* c_ptr,
                          float* __restrict__ out_ptr,
                          const mixed_strided_strided_any_layout<Rank, Index, Count>& layout,
                          const Count n)
{
    const Count i = blockIdx.x * Count(256) + threadIdx.x;
    if (i >= n) {
        return;
    }
    wait_for_earlier_kernels();
    if (i + 128 < n) {  // this thread has all of its 2 elements: everything is read before anything is written
        Index out_at_kept[2];
        float out_vec[2];
        #pragma unroll
        for (int j = 0; j < 2; ++j) {
            const Count e = i + 128 * j;
            Index c[Rank];
            find_coordinates(e, layout, c);
            const Index out_at = offset_of<0>(c, layout.out_stride);
            const Index a_at = offset_of<0>(c, layout.a_stride);
            const Index b_at = offset_of<0>(c, layout.b_stride);
            const Index c_at = offset_of<0>(c, layout.c_stride);
            out_at_kept[j] = out_at;
            mixed_strided_element(a_ptr[a_at], b_ptr[b_at], c_ptr[c_at], out_vec[j]);
        }
        #pragma unroll
        for (int j = 0; j < 2; ++j) {
            out_ptr[out_at_kept[j]] = out_vec[j];
        }
    } else {
        #pragma unroll 1
        for (Count e = i; e < n; e += 128) {
            Index c[Rank];
            find_coordinates(e, layout, c);
            const Index out_at = offset_of<0>(c, layout.out_stride);
            const Index a_at = offset_of<0>(c, layout.a_stride);
            const Index b_at = offset_of<0>(c, layout.b_stride);
            const Index c_at = offset_of<0>(c, layout.c_stride);
            mixed_strided_element(a_ptr[a_at], b_ptr[b_at], c_ptr[c_at], out_ptr[out_at]);
        }
    }
    let_next_kernel_start();
}

// 2 dimensions. Limits: fewer than 2^31 elements, and every offset in bytes below 2^31.
extern "C" __global__ void __launch_bounds__(128)
mixed_strided_strided_2d(const float* a_ptr, const float* b_ptr, const long long* c_ptr,
                         float* __restrict__ out_ptr,
                         const mixed_strided_strided_any_layout<2, int, unsigned int> layout,
                         const unsigned int n)
{
    mixed_strided_strided_any(a_ptr, b_ptr, c_ptr, out_ptr, layout, n);
}

// 3 dimensions. Limits: fewer than 2^31 elements, and every offset in bytes below 2^31.
extern "C" __global__ void __launch_bounds__(128)
mixed_strided_strided_3d(const float* a_ptr, const float* b_ptr, const long long* c_ptr,
                         float* __restrict__ out_ptr,
                         const mixed_strided_strided_any_layout<3, int, unsigned int> layout,
                         const unsigned int n)
{
    mixed_strided_strided_any(a_ptr, b_ptr, c_ptr, out_ptr, layout, n);
}

// 8 dimensions. Indices are 64-bit.
extern "C" __global__ void __launch_bounds__(128)
mixed_strided_strided_8d_64bit(const float* a_ptr, const float* b_ptr, const long long* c_ptr,
                               float* __restrict__ out_ptr,
                               const mixed_strided_strided_any_layout<8, long long, unsigned long long> layout,
                               const unsigned long long n)
{
    mixed_strided_strided_any(a_ptr, b_ptr, c_ptr, out_ptr, layout, n);
}

}  // namespace kgen_mixed_strided

// --- Host code: checks the arrays of a call, decides among the kernels above, and launches them. ---

#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)

#include <cuda_runtime.h>
#include <stdio.h>
#include <utility>

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
#define KGEN_INT64 {0, 64, 1}

namespace kgen_mixed_strided {

// The dimensions that a kernel walks, the fastest first, and the strides of its accesses along them.
constexpr int ACCESSES = 4;
struct Space {
    int rank;
    long long shape[8];
    long long strides[ACCESSES][8];
};

static long long kgen_ceil_div(long long a, long long b) { return (a + b - 1) / b; }

static long long kgen_shift(long long d)
{
    long long bits = 0;
    for (long long rest = d > 1 ? d - 1 : 0; rest > 0; rest /= 2) ++bits;
    return bits;
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

static void swap_dimensions(Space* space, int accesses, int a, int b)
{
    std::swap(space->shape[a], space->shape[b]);
    for (int k = 0; k < accesses; ++k) std::swap(space->strides[k][a], space->strides[k][b]);
}

// 1 if dimension a has to come after dimension b, -1 if their order is right, 0 if no access decides.
static int compare_dimensions(const Space& space, int accesses, int a, int b)
{
    for (int k = 0; k < accesses; ++k) {
        const long long one = magnitude(space.strides[k][a]), other = magnitude(space.strides[k][b]);
        if (one == 0 || other == 0) continue;
        if (one != other) return one > other ? 1 : -1;
        if (space.shape[a] > space.shape[b]) return 1;
    }
    return 0;
}

// Orders the dimensions, the fastest first: the first access with different strides decides each pair, as in PyTorch.
static void order_dimensions(Space* space, int accesses)
{
    for (int start = 1; start < space->rank; ++start) {
        for (int at = start, before = start - 1; before >= 0; --before) {
            const int verdict = compare_dimensions(*space, accesses, before, at);
            if (verdict < 0) break;
            if (verdict == 0) continue;
            swap_dimensions(space, accesses, before, at);
            at = before;
        }
    }
}

// Merges neighbouring dimensions that all accesses walk with one stride.  The others get extents of 1 and strides of 0.
static void merge_dimensions(Space* space, int accesses)
{
    int last = 0;
    for (int d = 1; d < space->rank; ++d) {
        bool continues = true;
        for (int k = 0; k < accesses; ++k) {
            const long long* const strides = space->strides[k];
            continues = continues && space->shape[last] * strides[last] == strides[d];
        }
        if (continues) space->shape[last] *= space->shape[d];
        if (!continues && ++last != d) swap_dimensions(space, accesses, last, d);
    }
    for (int d = last + 1; d < 8; ++d) {
        space->shape[d] = 1;
        for (int k = 0; k < accesses; ++k) space->strides[k][d] = 0;
    }
    space->rank = last + 1;
}

// The space of a kernel.  `accesses` lists its arrays: first those that are written, all of one shape, to which the
// others are broadcast.
static int find_space(const Array* arrays, const int* accesses, int count, int written, Space* space)
{
    const Array& results = arrays[accesses[0]];
    *space = Space();
    for (int k = 0; k < count; ++k) {
        const Array& array = arrays[accesses[k]];
        const int missing = results.rank - array.rank;
        bool fits = k < written ? missing == 0 : missing >= 0;
        space->rank = 0;
        for (int i = results.rank - 1; i >= 0 && fits; --i) {
            const long long n = results.shape[i], own = i < missing ? 1 : array.shape[i - missing];
            fits = own == n || (own == 1 && k >= written);
            if (n == 1) continue;
            space->shape[space->rank] = n;
            space->strides[k][space->rank++] = own == 1 ? 0 : array.strides[i - missing];
        }
        if (!fits) return status_of(KGEN_BAD_SHAPE, accesses[k] + 1);
    }
    if (space->rank == 0) {  // one element
        space->shape[space->rank++] = 1;
        for (int k = 0; k < count; ++k) space->strides[k][0] = 1;
    }
    if (results.size == 0) return KGEN_SUCCESS;
    order_dimensions(space, count);
    merge_dimensions(space, count);
    return KGEN_SUCCESS;
}

// Whether indices, and offsets in bytes, fit 32 bits.
static bool fits_32_bits(const Array* arrays, const int* accesses, int count)
{
    const uintptr_t most = 2147483647;
    for (int k = 0; k < count; ++k) {
        const Array& array = arrays[accesses[k]];
        if (array.address - array.first > most + 1 || array.last - array.address > most) return false;
    }
    return static_cast<uintptr_t>(arrays[accesses[0]].size) <= most;
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

// The product of the extents from a dimension on.
template <int Rank>
static long long extents_from(const long long* shape, int first)
{
    long long product = 1;
    for (int d = first; d < Rank; ++d) product *= shape[d];
    return product;
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
    const float* a_ptr;
    const float* b_ptr;
    const long long* c_ptr;
    float* out_ptr;
    cudaStream_t stream;
};

template <int Rank, typename Index, typename Count, auto& kernel>
static int launch_mixed_strided_strided_any(const Arguments& a, const Space& space)
{
    const long long* const shape = space.shape;
    const auto& strides = space.strides;
    const long long n = extents_from<Rank>(shape, 0);
    mixed_strided_strided_any_layout<Rank, Index, Count> layout;
    for (int d = 0; d < Rank - 1; ++d) {
        layout.extent[d] = (Count)shape[d];
        layout.magic[d] = magic_of<Count>(layout.extent[d]);
        layout.shift[d] = (Count)kgen_shift(layout.extent[d]);
    }
    for (int d = 0; d < Rank; ++d) {
        layout.out_stride[d] = (Index)strides[0][d];
        layout.a_stride[d] = (Index)strides[1][d];
        layout.b_stride[d] = (Index)strides[2][d];
        layout.c_stride[d] = (Index)strides[3][d];
    }
    return launch(kernel, kgen_ceil_div(n, 256), 1, 128, true, a.stream,
                  a.a_ptr, a.b_ptr, a.c_ptr, a.out_ptr, layout, (Count)n);
}

const Operand OPERANDS[] = {
    {"a", KGEN_FLOAT32, -1, false},
    {"b", KGEN_FLOAT32, -1, false},
    {"c", KGEN_INT64, -1, false},
    {"out", KGEN_FLOAT32, -1, true},
};

// What a call launches for one kernel of the program: nothing where there is nothing to compute.
struct Choice {
    int (*launch)(const Arguments&, const Space&);
    Space space;
};

// The first kernel that takes these layouts.
static int choose_step1(const Array* arrays, Choice* choice)
{
    const int accesses[] = {3, 0, 1, 2};
    const Space& space = choice->space;
    const int status = find_space(arrays, accesses, 4, 1, &choice->space);
    if (status != KGEN_SUCCESS || arrays[3].size == 0) return status;
    const bool is_small = fits_32_bits(arrays, accesses, 4);
    if (space.rank <= 2 && is_small) {
        choice->launch = launch_mixed_strided_strided_any<2, int, unsigned int, mixed_strided_strided_2d>;
    } else if (space.rank <= 3 && is_small) {
        choice->launch = launch_mixed_strided_strided_any<3, int, unsigned int, mixed_strided_strided_3d>;
    } else if (space.rank <= 8) {
        choice->launch = launch_mixed_strided_strided_any<8, long long, unsigned long long,
            mixed_strided_strided_8d_64bit>;
    } else {
        return KGEN_NOT_COVERED;
    }
    return KGEN_SUCCESS;
}

// Checks the arrays, and decides on the kernels.
static int decide(const kgen_array* const* given, Array* arrays, Choice* choices)
{
    int status = read_arrays(given, OPERANDS, 4, arrays);
    if (status == KGEN_SUCCESS) status = choose_step1(arrays, &choices[0]);
    return status;
}

}  // namespace kgen_mixed_strided

extern "C" int mixed_strided_launch(const kgen_array* a_array,
                                    const kgen_array* b_array,
                                    const kgen_array* c_array,
                                    const kgen_array* out_array,
                                    void* /* workspace */,
                                    size_t /* workspace_bytes */,
                                    cudaStream_t stream)
{
    using namespace kgen_mixed_strided;
    const kgen_array* const given[] = {a_array, b_array, c_array, out_array};
    Array arrays[4];
    Choice choices[1] = {};
    int status = decide(given, arrays, choices);
    if (status != KGEN_SUCCESS) return status;
    const Arguments a = {
        reinterpret_cast<const float*>(arrays[0].address),
        reinterpret_cast<const float*>(arrays[1].address),
        reinterpret_cast<const long long*>(arrays[2].address),
        reinterpret_cast<float*>(arrays[3].address),
        stream,
    };
    for (const Choice& choice : choices) {
        if (status == KGEN_SUCCESS && choice.launch != nullptr) status = choice.launch(a, choice.space);
    }
    return status;
}

extern "C" int mixed_strided_workspace_size(const kgen_array* a_array,
                                            const kgen_array* b_array,
                                            const kgen_array* c_array,
                                            const kgen_array* out_array,
                                            size_t* bytes)
{
    using namespace kgen_mixed_strided;
    const kgen_array* const given[] = {a_array, b_array, c_array, out_array};
    Array arrays[4];
    Choice choices[1] = {};
    const int status = decide(given, arrays, choices);
    *bytes = 0;
    return status;
}

extern "C" const char* mixed_strided_error_string(int status)
{
    using namespace kgen_mixed_strided;
    return message_of(status, OPERANDS, 4);
}

#endif
