// Made by kgen 0.1.0 from rotate.k. Do not edit; remake it with
//     kgen compile rotate.k -o rotate.cu --dtype z=c64,theta=f32 --layout contiguous
//
//     # Rotary position embedding on pairs seen as complex numbers: z is (batch, position, pair), theta is (position, pair).
//     out = z * complex(cos(theta), sin(theta))
//
// Inputs:  z: complex64, theta: float32
// Outputs: out: complex64
//
// Layout: contiguous.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

namespace kgen_rotate {

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

// One element: out = z * complex(cos(theta), sin(theta))
static __device__ __forceinline__ void
rotate_element(const float2 z_v, const float theta_v, float2& out_v)
{
    const float cos_v = cosf(theta_v);
    const float sin_v = sinf(theta_v);
    out_v = make_float2(z_v.x * cos_v - z_v.y * sin_v, z_v.x * sin_v + z_v.y * cos_v);
}

// Operands in memory order, 2 elements a thread.
// Launch: ceil(n / 512) blocks of 256 threads, for n elements.
// Alignment, in bytes: 16 for out and z; 8 for theta.
// No other operand may overlap out in memory.
template <typename Count>
static __device__ __forceinline__ void
rotate_contiguous_any(const float2* z_ptr,
                      const float* theta_ptr,
                      float2* __restrict__ out_ptr,
                      const Count n)
{
    const Count i = 2 * (blockIdx.x * Count(256) + threadIdx.x);  // the first of this thread's 2 elements
    const Count whole_to = n / 2 * 2;  // whole groups lie up to here
    wait_for_earlier_kernels();
    if (i < whole_to) {
        const auto z_vec = *reinterpret_cast<const Pack<float2, 2, 16>*>(z_ptr + i);
        const auto theta_vec = *reinterpret_cast<const Pack<float, 2, 8>*>(theta_ptr + i);
        Pack<float2, 2, 16> out_vec;
        #pragma unroll
        for (int j = 0; j < 2; ++j) {
            rotate_element(z_vec.at[j], theta_vec.at[j], out_vec.at[j]);
        }
        *reinterpret_cast<Pack<float2, 2, 16>*>(out_ptr + i) = out_vec;
    }
    // Elements that are in no whole group, one a thread of the first block.
    const Count e = whole_to + (255 - threadIdx.x);
    if (blockIdx.x == 0 && e < n) {
        rotate_element(z_ptr[e], theta_ptr[e], out_ptr[e]);
    }
    let_next_kernel_start();
}

// For n < 2^31 elements.
extern "C" __global__ void __launch_bounds__(256)
rotate_contiguous(const float2* z_ptr, const float* theta_ptr, float2* __restrict__ out_ptr,
                  const unsigned int n)
{
    rotate_contiguous_any(z_ptr, theta_ptr, out_ptr, n);
}

// Indices are 64-bit.
extern "C" __global__ void __launch_bounds__(256)
rotate_contiguous_64bit(const float2* z_ptr, const float* theta_ptr, float2* __restrict__ out_ptr,
                        const unsigned long long n)
{
    rotate_contiguous_any(z_ptr, theta_ptr, out_ptr, n);
}

}  // namespace kgen_rotate

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

#define KGEN_COMPLEX64 {5, 64, 1}
#define KGEN_FLOAT32 {2, 32, 1}

namespace kgen_rotate {

// The dimensions that a kernel walks, the fastest first, and the strides of its accesses along them.
constexpr int ACCESSES = 3;
struct Space {
    int rank;
    long long shape[8];
    long long strides[ACCESSES][8];
};

static long long kgen_ceil_div(long long a, long long b) { return (a + b - 1) / b; }

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

// Whether the first accesses walk consecutive elements along the fastest dimension.
static bool are_consecutive(const Space& space, int accesses)
{
    for (int k = 0; k < accesses; ++k) {
        if (space.strides[k][0] != 1) return false;
    }
    return true;
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
    const float2* z_ptr;
    const float* theta_ptr;
    float2* out_ptr;
    cudaStream_t stream;
};

template <typename Count, auto& kernel>
static int launch_rotate_contiguous_any(const Arguments& a, const Space& space)
{
    const long long* const shape = space.shape;
    const long long n = shape[0];
    return launch(kernel, kgen_ceil_div(n, 512), 1, 256, true, a.stream,
                  a.z_ptr, a.theta_ptr, a.out_ptr, (Count)n);
}

const Operand OPERANDS[] = {
    {"z", KGEN_COMPLEX64, -1, false},
    {"theta", KGEN_FLOAT32, -1, false},
    {"out", KGEN_COMPLEX64, -1, true},
};

// What a call launches for one kernel of the program: nothing where there is nothing to compute.
struct Choice {
    int (*launch)(const Arguments&, const Space&);
    Space space;
};

// The first kernel that takes these layouts.
static int choose_step1(const Array* arrays, Choice* choice)
{
    const int accesses[] = {2, 0, 1};
    const Space& space = choice->space;
    const int status = find_space(arrays, accesses, 3, 1, &choice->space);
    if (status != KGEN_SUCCESS || arrays[2].size == 0) return status;
    const bool is_run = space.rank == 1 && are_consecutive(space, 3);
    const bool is_aligned = (arrays[2].address | arrays[0].address) % 16 == 0 && arrays[1].address % 8 == 0;
    if (is_run && is_aligned && space.shape[0] < 2147483648) {
        choice->launch = launch_rotate_contiguous_any<unsigned int, rotate_contiguous>;
    } else if (is_run && is_aligned) {
        choice->launch = launch_rotate_contiguous_any<unsigned long long, rotate_contiguous_64bit>;
    } else {
        return KGEN_NOT_COVERED;
    }
    return KGEN_SUCCESS;
}

// Checks the arrays, and decides on the kernels.
static int decide(const kgen_array* const* given, Array* arrays, Choice* choices)
{
    int status = read_arrays(given, OPERANDS, 3, arrays);
    if (status == KGEN_SUCCESS) status = choose_step1(arrays, &choices[0]);
    return status;
}

}  // namespace kgen_rotate

extern "C" int rotate_launch(const kgen_array* z_array,
                             const kgen_array* theta_array,
                             const kgen_array* out_array,
                             void* /* workspace */,
                             size_t /* workspace_bytes */,
                             cudaStream_t stream)
{
    using namespace kgen_rotate;
    const kgen_array* const given[] = {z_array, theta_array, out_array};
    Array arrays[3];
    Choice choices[1] = {};
    int status = decide(given, arrays, choices);
    if (status != KGEN_SUCCESS) return status;
    const Arguments a = {
        reinterpret_cast<const float2*>(arrays[0].address),
        reinterpret_cast<const float*>(arrays[1].address),
        reinterpret_cast<float2*>(arrays[2].address),
        stream,
    };
    for (const Choice& choice : choices) {
        if (status == KGEN_SUCCESS && choice.launch != nullptr) status = choice.launch(a, choice.space);
    }
    return status;
}

extern "C" int rotate_workspace_size(const kgen_array* z_array,
                                     const kgen_array* theta_array,
                                     const kgen_array* out_array,
                                     size_t* bytes)
{
    using namespace kgen_rotate;
    const kgen_array* const given[] = {z_array, theta_array, out_array};
    Array arrays[3];
    Choice choices[1] = {};
    const int status = decide(given, arrays, choices);
    *bytes = 0;
    return status;
}

extern "C" const char* rotate_error_string(int status)
{
    using namespace kgen_rotate;
    return message_of(status, OPERANDS, 3);
}

#endif
