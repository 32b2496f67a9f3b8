// Made by kgen 0.1.0 from rotary_embedding.k. Do not edit; remake it with
//     kgen compile rotary_embedding.k -o rotary_embedding.cu --dtype positions=i64,cos_sin_cache=bf16,query=bf16,key=bf16 --shape positions=64,cos_sin_cache=8192x128,query=64x32x128,key=64x8x128
//
//     # Rotary embedding (NeoX) by positions, in place.  query, key: [tokens, heads, size], with as many heads as each has;
//     # cos_sin_cache: [positions, size], cosines before sines.
//     input positions, cos_sin_cache
//     inout query, key
//     let h = size(query, -1) // 2
//     let cos = expand(cos_sin_cache[positions, :h], axis=1)
//     let sin = expand(cos_sin_cache[positions, h:], axis=1)
//     def rotated(a, b, cos, sin) = concat(a * cos - b * sin, b * cos + a * sin, axis=-1)
//     query = cast<typeof(query)>(rotated(query[..., :h], query[..., h:], cos, sin))
//     key = cast<typeof(key)>(rotated(key[..., :h], key[..., h:], cos, sin))
//
// Inputs:  positions: int64, cos_sin_cache: bfloat16, query: bfloat16 (updated in place), key: bfloat16 (updated in place)
// Views:   cos_sin_cache_1 = cos_sin_cache[:, :size(query, 2) // 2], cos_sin_cache_2 = cos_sin_cache[:, size(query, 2) // 2:], query_1 = query[:, :, :size(query, 2) // 2], query_2 = query[:, :, size(query, 2) // 2:], query_3 = query[:, :, :n6], query_4 = query[:, :, n6:], key_1 = key[:, :, :size(query, 2) // 2], key_2 = key[:, :, size(query, 2) // 2:], key_3 = key[:, :, :n6], key_4 = key[:, :, n6:]
//
// Chosen: horizontal: kernels that do not depend on each other share a launch.
// Chosen: rows: `query_3`, `query_4`, `positions`, `query_1` and `query_2`
//         are not dense in the order in which the outputs are walked.
// Chosen: 32-bit indices: every byte offset is below 2^31.
// Chosen: rows: `key_3`, `key_4`, `positions`, `key_1` and `key_2` are
//         not dense in the order in which the outputs are walked.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_bf16.h>

namespace kgen_rotary_embedding {

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

// The element at an offset; 0, and no access to memory, where that is outside of the array.
template <typename T>
static __device__ __forceinline__ T gather(const T* from, long long offset, bool inside)
{
    return inside ? from[offset] : T();
}

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

// One element.
static __device__ __forceinline__ void
rotary_embedding_query_element(const __nv_bfloat16 query_1_v,
                               const __nv_bfloat16 query_2_v,
                               __nv_bfloat16& query_3_v,
                               __nv_bfloat16& query_4_v,
                               const __nv_bfloat16 cos_sin_cache_1_v,
                               const __nv_bfloat16 cos_sin_cache_2_v)
{
    const float cos_v = __bfloat162float(cos_sin_cache_1_v);
    const float sin_v = __bfloat162float(cos_sin_cache_2_v);
    const float query_1_f32 = __bfloat162float(query_1_v);
    const float query_2_f32 = __bfloat162float(query_2_v);
    // query = cast<typeof(query)>(rotated(query[..., :h], query[..., h:], cos, sin))
    query_3_v = __float2bfloat16_rn(query_1_f32 * cos_v - query_2_f32 * sin_v);
    query_4_v = __float2bfloat16_rn(query_2_f32 * cos_v + query_1_f32 * sin_v);
}

// The row of cos_sin_cache_1 at a computed place.
static __device__ __forceinline__ void
rotary_embedding_query_cos_sin_cache_1_row(const long long positions_v,
                                           const __nv_bfloat16* cos_sin_cache_1_ptr,
                                           const ArrayShape<2>& cos_sin_cache_1_shape,
                                           Row<const __nv_bfloat16>& cos_sin_cache_1_row)
{
    const long long t = wrap_add(positions_v, cos_sin_cache_1_shape.extent[0]);
    const long long cos_sin_cache_1_place0 = positions_v < 0ll ? t : positions_v;
    const bool cos_sin_cache_1_inside = is_inside(cos_sin_cache_1_place0, cos_sin_cache_1_shape.extent[0]);
    const long long cos_sin_cache_1_at = cos_sin_cache_1_inside
        ? cos_sin_cache_1_place0 * cos_sin_cache_1_shape.stride[0] : 0;
    cos_sin_cache_1_row = {cos_sin_cache_1_ptr + cos_sin_cache_1_at, cos_sin_cache_1_inside};
}

// The row of cos_sin_cache_2 at a computed place.
static __device__ __forceinline__ void
rotary_embedding_query_cos_sin_cache_2_row(const long long positions_v,
                                           const __nv_bfloat16* cos_sin_cache_2_ptr,
                                           const ArrayShape<2>& cos_sin_cache_2_shape,
                                           Row<const __nv_bfloat16>& cos_sin_cache_2_row)
{
    const long long t = wrap_add(positions_v, cos_sin_cache_2_shape.extent[0]);
    const long long cos_sin_cache_2_place0 = positions_v < 0ll ? t : positions_v;
    const bool cos_sin_cache_2_inside = is_inside(cos_sin_cache_2_place0, cos_sin_cache_2_shape.extent[0]);
    const long long cos_sin_cache_2_at = cos_sin_cache_2_inside
        ? cos_sin_cache_2_place0 * cos_sin_cache_2_shape.stride[0] : 0;
    cos_sin_cache_2_row = {cos_sin_cache_2_ptr + cos_sin_cache_2_at, cos_sin_cache_2_inside};
}

// One element.
static __device__ __forceinline__ void
rotary_embedding_key_element(const __nv_bfloat16 key_1_v,
                             const __nv_bfloat16 key_2_v,
                             __nv_bfloat16& key_3_v,
                             __nv_bfloat16& key_4_v,
                             const __nv_bfloat16 cos_sin_cache_1_v,
                             const __nv_bfloat16 cos_sin_cache_2_v)
{
    const float cos_v = __bfloat162float(cos_sin_cache_1_v);
    const float sin_v = __bfloat162float(cos_sin_cache_2_v);
    const float key_1_f32 = __bfloat162float(key_1_v);
    const float key_2_f32 = __bfloat162float(key_2_v);
    // key = cast<typeof(key)>(rotated(key[..., :h], key[..., h:], cos, sin))
    key_3_v = __float2bfloat16_rn(key_1_f32 * cos_v - key_2_f32 * sin_v);
    key_4_v = __float2bfloat16_rn(key_2_f32 * cos_v + key_1_f32 * sin_v);
}

// Where the elements lie: 3 dimensions, the fastest first; strides in elements.
struct rotary_embedding_query_part_layout {
    int width;  // elements along the fastest dimension
    unsigned int extent[2];  // of groups in a row, then of the other dimensions
    unsigned int magic[2];  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int shift[2];  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
    int query_3_stride[2];  // of query_3, query_4, query_1 and query_2
    int positions_stride[2];
};

// Rows, 8 elements of a row a thread.
// Limits: fewer than 2^31 elements, and every offset in bytes below 2^31.
// Alignment, in bytes: 16 for query_3, query_4, query_1 and query_2.
// One element a row: positions.
// Rows at computed places, whose groups are aligned: cos_sin_cache_1 and cos_sin_cache_2.
static __device__ __forceinline__ void
rotary_embedding_query_part(const long long* positions_ptr,
                            const __nv_bfloat16* cos_sin_cache_1_ptr,
                            const __nv_bfloat16* cos_sin_cache_2_ptr,
                            const __nv_bfloat16* query_1_ptr,
                            const __nv_bfloat16* query_2_ptr,
                            __nv_bfloat16* query_3_ptr,
                            __nv_bfloat16* query_4_ptr,
                            const ArrayShape<2> cos_sin_cache_1_shape,
                            const ArrayShape<2> cos_sin_cache_2_shape,
                            const rotary_embedding_query_part_layout& layout,
                            const unsigned int n,
                            const unsigned int block)
{
    const unsigned int t = block * 256u + threadIdx.x;
    if (t >= n) {
        return;
    }
    const unsigned int q0 = (__umulhi(t, layout.magic[0]) + t) >> layout.shift[0];
    const int c0 = (int)(t - q0 * layout.extent[0]);
    const unsigned int q1 = (__umulhi(q0, layout.magic[1]) + q0) >> layout.shift[1];
    const int c1 = (int)(q0 - q1 * layout.extent[1]);
    const int c2 = (int)q1;
    const int query_3_at = c1 * layout.query_3_stride[0] + c2 * layout.query_3_stride[1];
    const int positions_at = c1 * layout.positions_stride[0] + c2 * layout.positions_stride[1];
    const int i = 8 * c0;  // the first of this thread's 8 elements of the row
    wait_for_earlier_kernels();
    const long long positions_v = positions_ptr[positions_at];
    Row<const __nv_bfloat16> cos_sin_cache_1_row;
    rotary_embedding_query_cos_sin_cache_1_row(positions_v, cos_sin_cache_1_ptr,
                                               cos_sin_cache_1_shape, cos_sin_cache_1_row);
    Row<const __nv_bfloat16> cos_sin_cache_2_row;
    rotary_embedding_query_cos_sin_cache_2_row(positions_v, cos_sin_cache_2_ptr,
                                               cos_sin_cache_2_shape, cos_sin_cache_2_row);
    if (layout.width - i >= 8) {
        const auto query_1_vec = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(query_1_ptr + query_3_at + i);
        const auto query_2_vec = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(query_2_ptr + query_3_at + i);
        const auto cos_sin_cache_1_gathered = load_gathered<Pack<__nv_bfloat16, 8, 16>>(cos_sin_cache_1_row, i);
        const auto cos_sin_cache_2_gathered = load_gathered<Pack<__nv_bfloat16, 8, 16>>(cos_sin_cache_2_row, i);
        Pack<__nv_bfloat16, 8, 16> query_3_vec;
        Pack<__nv_bfloat16, 8, 16> query_4_vec;
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            rotary_embedding_query_element(query_1_vec.at[j], query_2_vec.at[j], query_3_vec.at[j],
                                           query_4_vec.at[j], cos_sin_cache_1_gathered.at[j],
                                           cos_sin_cache_2_gathered.at[j]);
        }
        *reinterpret_cast<Pack<__nv_bfloat16, 8, 16>*>(query_3_ptr + query_3_at + i) = query_3_vec;
        *reinterpret_cast<Pack<__nv_bfloat16, 8, 16>*>(query_4_ptr + query_3_at + i) = query_4_vec;
    } else {
        #pragma unroll 1
        for (int e = i; e < layout.width; ++e) {
            rotary_embedding_query_element(query_1_ptr[query_3_at + e], query_2_ptr[query_3_at + e],
                                           query_3_ptr[query_3_at + e], query_4_ptr[query_3_at + e],
                                           gather(cos_sin_cache_1_row.start, e, cos_sin_cache_1_row.inside),
                                           gather(cos_sin_cache_2_row.start, e, cos_sin_cache_2_row.inside));
        }
    }
    let_next_kernel_start();
}

// Where the elements lie: 3 dimensions, the fastest first; strides in elements.
struct rotary_embedding_key_part_layout {
    int width;  // elements along the fastest dimension
    unsigned int extent[2];  // of groups in a row, then of the other dimensions
    unsigned int magic[2];  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int shift[2];  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
    int key_3_stride[2];  // of key_3, key_4, key_1 and key_2
    int positions_stride[2];
};

// Rows, 8 elements of a row a thread.
// Limits: fewer than 2^31 elements, and every offset in bytes below 2^31.
// Alignment, in bytes: 16 for key_3, key_4, key_1 and key_2.
// One element a row: positions.
// Rows at computed places, whose groups are aligned: cos_sin_cache_1 and cos_sin_cache_2.
static __device__ __forceinline__ void
rotary_embedding_key_part(const long long* positions_ptr,
                          const __nv_bfloat16* cos_sin_cache_1_ptr,
                          const __nv_bfloat16* cos_sin_cache_2_ptr,
                          const __nv_bfloat16* key_1_ptr,
                          const __nv_bfloat16* key_2_ptr,
                          __nv_bfloat16* key_3_ptr,
                          __nv_bfloat16* key_4_ptr,
                          const ArrayShape<2> cos_sin_cache_1_shape,
                          const ArrayShape<2> cos_sin_cache_2_shape,
                          const rotary_embedding_key_part_layout& layout,
                          const unsigned int n,
                          const unsigned int block)
{
    const unsigned int t = block * 256u + threadIdx.x;
    if (t >= n) {
        return;
    }
    const unsigned int q0 = (__umulhi(t, layout.magic[0]) + t) >> layout.shift[0];
    const int c0 = (int)(t - q0 * layout.extent[0]);
    const unsigned int q1 = (__umulhi(q0, layout.magic[1]) + q0) >> layout.shift[1];
    const int c1 = (int)(q0 - q1 * layout.extent[1]);
    const int c2 = (int)q1;
    const int key_3_at = c1 * layout.key_3_stride[0] + c2 * layout.key_3_stride[1];
    const int positions_at = c1 * layout.positions_stride[0] + c2 * layout.positions_stride[1];
    const int i = 8 * c0;  // the first of this thread's 8 elements of the row
    wait_for_earlier_kernels();
    const long long positions_v = positions_ptr[positions_at];
    Row<const __nv_bfloat16> cos_sin_cache_1_row;
    rotary_embedding_query_cos_sin_cache_1_row(positions_v, cos_sin_cache_1_ptr,
                                               cos_sin_cache_1_shape, cos_sin_cache_1_row);
    Row<const __nv_bfloat16> cos_sin_cache_2_row;
    rotary_embedding_query_cos_sin_cache_2_row(positions_v, cos_sin_cache_2_ptr,
                                               cos_sin_cache_2_shape, cos_sin_cache_2_row);
    if (layout.width - i >= 8) {
        const auto key_1_vec = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(key_1_ptr + key_3_at + i);
        const auto key_2_vec = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(key_2_ptr + key_3_at + i);
        const auto cos_sin_cache_1_gathered = load_gathered<Pack<__nv_bfloat16, 8, 16>>(cos_sin_cache_1_row, i);
        const auto cos_sin_cache_2_gathered = load_gathered<Pack<__nv_bfloat16, 8, 16>>(cos_sin_cache_2_row, i);
        Pack<__nv_bfloat16, 8, 16> key_3_vec;
        Pack<__nv_bfloat16, 8, 16> key_4_vec;
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            rotary_embedding_key_element(key_1_vec.at[j], key_2_vec.at[j], key_3_vec.at[j],
                                         key_4_vec.at[j], cos_sin_cache_1_gathered.at[j],
                                         cos_sin_cache_2_gathered.at[j]);
        }
        *reinterpret_cast<Pack<__nv_bfloat16, 8, 16>*>(key_3_ptr + key_3_at + i) = key_3_vec;
        *reinterpret_cast<Pack<__nv_bfloat16, 8, 16>*>(key_4_ptr + key_3_at + i) = key_4_vec;
    } else {
        #pragma unroll 1
        for (int e = i; e < layout.width; ++e) {
            rotary_embedding_key_element(key_1_ptr[key_3_at + e], key_2_ptr[key_3_at + e],
                                         key_3_ptr[key_3_at + e], key_4_ptr[key_3_at + e],
                                         gather(cos_sin_cache_1_row.start, e, cos_sin_cache_1_row.inside),
                                         gather(cos_sin_cache_2_row.start, e, cos_sin_cache_2_row.inside));
        }
    }
    let_next_kernel_start();
}

// What each part takes.
struct rotary_embedding_horizontal_layout {
    rotary_embedding_query_part_layout part0;
    rotary_embedding_key_part_layout part1;
    unsigned int blocks[2];  // of each part
    unsigned int n[2];  // groups of each part
};

// The first blocks run rotary_embedding_query_part, those after them rotary_embedding_key_part.
// Launch: layout.blocks[0] + ... + layout.blocks[1] blocks of 256 threads.
extern "C" __global__ void __launch_bounds__(256)
rotary_embedding_horizontal(const long long* positions_ptr,
                            const __nv_bfloat16* cos_sin_cache_1_ptr,
                            const __nv_bfloat16* cos_sin_cache_2_ptr,
                            const __nv_bfloat16* query_1_ptr,
                            const __nv_bfloat16* query_2_ptr,
                            __nv_bfloat16* query_3_ptr,
                            __nv_bfloat16* query_4_ptr,
                            const __nv_bfloat16* key_1_ptr,
                            const __nv_bfloat16* key_2_ptr,
                            __nv_bfloat16* key_3_ptr,
                            __nv_bfloat16* key_4_ptr,
                            const ArrayShape<2> cos_sin_cache_1_shape,
                            const ArrayShape<2> cos_sin_cache_2_shape,
                            const rotary_embedding_horizontal_layout layout)
{
    unsigned int block = blockIdx.x;  // counted from the first of its part
    if (block < layout.blocks[0]) {
        rotary_embedding_query_part(positions_ptr, cos_sin_cache_1_ptr, cos_sin_cache_2_ptr, query_1_ptr,
                                    query_2_ptr, query_3_ptr, query_4_ptr, cos_sin_cache_1_shape,
                                    cos_sin_cache_2_shape, layout.part0, layout.n[0], block);
        return;
    }
    block -= layout.blocks[0];
    rotary_embedding_key_part(positions_ptr, cos_sin_cache_1_ptr, cos_sin_cache_2_ptr, key_1_ptr, key_2_ptr,
                              key_3_ptr, key_4_ptr, cos_sin_cache_1_shape, cos_sin_cache_2_shape,
                              layout.part1, layout.n[1], block);
}

}  // namespace kgen_rotary_embedding

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

#define KGEN_INT64 {0, 64, 1}
#define KGEN_BFLOAT16 {4, 16, 1}

namespace kgen_rotary_embedding {

// The dimensions that a kernel walks, the fastest first, and the strides of its accesses along them.
constexpr int ACCESSES = 10;
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
    const long long* positions_ptr;
    const __nv_bfloat16* cos_sin_cache_1_ptr;
    const __nv_bfloat16* cos_sin_cache_2_ptr;
    const __nv_bfloat16* query_1_ptr;
    const __nv_bfloat16* query_2_ptr;
    __nv_bfloat16* query_3_ptr;
    __nv_bfloat16* query_4_ptr;
    const __nv_bfloat16* key_1_ptr;
    const __nv_bfloat16* key_2_ptr;
    __nv_bfloat16* key_3_ptr;
    __nv_bfloat16* key_4_ptr;
    ArrayShape<2> cos_sin_cache_1_shape;
    ArrayShape<2> cos_sin_cache_2_shape;
    cudaStream_t stream;
};

static int launch_rotary_embedding_horizontal(const Arguments& a, const Space& space)
{
    const long long* const shape = space.shape;
    const auto& strides = space.strides;
    const long long n0 = (kgen_ceil_div(shape[0], 8) * shape[1]) * shape[2];
    const long long blocks0 = kgen_ceil_div(n0, 256);
    const long long n1 = (kgen_ceil_div(shape[3], 8) * shape[4]) * shape[5];
    const long long blocks1 = kgen_ceil_div(n1, 256);
    const rotary_embedding_horizontal_layout layout = {
        {(int)shape[0], {(unsigned int)kgen_ceil_div(shape[0], 8), (unsigned int)shape[1]},
            {(unsigned int)kgen_magic(kgen_ceil_div(shape[0], 8)), (unsigned int)kgen_magic(shape[1])},
            {(unsigned int)kgen_shift(kgen_ceil_div(shape[0], 8)), (unsigned int)kgen_shift(shape[1])},
            {(int)((shape[1] != 1) ? strides[0][1] : 0), (int)((shape[2] != 1) ? strides[0][2] : 0)},
            {(int)((shape[1] != 1) ? strides[2][1] : 0), (int)((shape[2] != 1) ? strides[2][2] : 0)}},
        {(int)shape[3], {(unsigned int)kgen_ceil_div(shape[3], 8), (unsigned int)shape[4]},
            {(unsigned int)kgen_magic(kgen_ceil_div(shape[3], 8)), (unsigned int)kgen_magic(shape[4])},
            {(unsigned int)kgen_shift(kgen_ceil_div(shape[3], 8)), (unsigned int)kgen_shift(shape[4])},
            {(int)((shape[4] != 1) ? strides[5][4] : 0), (int)((shape[5] != 1) ? strides[5][5] : 0)},
            {(int)((shape[4] != 1) ? strides[7][4] : 0), (int)((shape[5] != 1) ? strides[7][5] : 0)}},
        {(unsigned int)blocks0, (unsigned int)blocks1},
        {(unsigned int)n0, (unsigned int)n1},
    };
    return launch(rotary_embedding_horizontal, blocks0 + blocks1, 1, 256, true, a.stream,
                  a.positions_ptr, a.cos_sin_cache_1_ptr, a.cos_sin_cache_2_ptr, a.query_1_ptr, a.query_2_ptr,
                      a.query_3_ptr, a.query_4_ptr, a.key_1_ptr, a.key_2_ptr, a.key_3_ptr, a.key_4_ptr,
                      a.cos_sin_cache_1_shape, a.cos_sin_cache_2_shape, layout);
}

const Operand OPERANDS[] = {
    {"positions", KGEN_INT64, 1, false},
    {"cos_sin_cache", KGEN_BFLOAT16, 2, false},
    {"query", KGEN_BFLOAT16, 3, true},
    {"key", KGEN_BFLOAT16, 3, true},
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
    if (status == KGEN_SUCCESS) status = check_layout(arrays[0], 1, {64}, {1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[1], 2, {8192, 128}, {128, 1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[2], 3, {64, 32, 128}, {4096, 128, 1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[3], 4, {64, 8, 128}, {1024, 128, 1});
    if (status != KGEN_SUCCESS || (arrays[2].size == 0 && arrays[3].size == 0)) return status;
    choices[0].launch = launch_rotary_embedding_horizontal;
    choices[0].space = {6, {64, 32, 64, 64, 8, 64},
        {{1, 128, 4096, 0, 0, 0}, {1, 128, 4096, 0, 0, 0}, {0, 0, 1, 0, 0, 0}, {1, 128, 4096, 0, 0, 0},
        {1, 128, 4096, 0, 0, 0}, {0, 0, 0, 1, 128, 1024}, {0, 0, 0, 1, 128, 1024}, {0, 0, 0, 0, 0, 1},
        {0, 0, 0, 1, 128, 1024}, {0, 0, 0, 1, 128, 1024}}};
    return mark_unaligned(arrays, OPERANDS, {1, 2, 3});
}

// The bytes of a call: copies of unaligned arrays, buffers between kernels, then scratch memory, which these share.
static size_t workspace_of(const Array* arrays)
{
    return bytes_of_copies(arrays, 4);
}

}  // namespace kgen_rotary_embedding

extern "C" int rotary_embedding_launch(const kgen_array* positions_array,
                                       const kgen_array* cos_sin_cache_array,
                                       const kgen_array* query_array,
                                       const kgen_array* key_array,
                                       void* workspace,
                                       size_t workspace_bytes,
                                       cudaStream_t stream)
{
    using namespace kgen_rotary_embedding;
    const kgen_array* const given[] = {positions_array, cos_sin_cache_array, query_array, key_array};
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
    const uintptr_t cos_sin_cache_address = arrays[1].address;
    const uintptr_t query_address = arrays[2].address;
    const uintptr_t key_address = arrays[3].address;
    const Arguments a = {
        reinterpret_cast<const long long*>(arrays[0].address),
        reinterpret_cast<const __nv_bfloat16*>(cos_sin_cache_address),
        reinterpret_cast<const __nv_bfloat16*>(cos_sin_cache_address + 128),
        reinterpret_cast<const __nv_bfloat16*>(query_address),
        reinterpret_cast<const __nv_bfloat16*>(query_address + 128),
        reinterpret_cast<__nv_bfloat16*>(query_address),
        reinterpret_cast<__nv_bfloat16*>(query_address + 128),
        reinterpret_cast<const __nv_bfloat16*>(key_address),
        reinterpret_cast<const __nv_bfloat16*>(key_address + 128),
        reinterpret_cast<__nv_bfloat16*>(key_address),
        reinterpret_cast<__nv_bfloat16*>(key_address + 128),
        {{8192, 64}, {128, 1}},
        {{8192, 64}, {128, 1}},
        stream,
    };
    for (const Choice& choice : choices) {
        if (status == KGEN_SUCCESS && choice.launch != nullptr) status = choice.launch(a, choice.space);
    }
    if (status == KGEN_SUCCESS) status = copy_back(arrays, OPERANDS, 4, stream);
    return status;
}

extern "C" int rotary_embedding_workspace_size(const kgen_array* positions_array,
                                               const kgen_array* cos_sin_cache_array,
                                               const kgen_array* query_array,
                                               const kgen_array* key_array,
                                               size_t* bytes)
{
    using namespace kgen_rotary_embedding;
    const kgen_array* const given[] = {positions_array, cos_sin_cache_array, query_array, key_array};
    Array arrays[4];
    Choice choices[1] = {};
    const int status = decide(given, arrays, choices);
    *bytes = status == KGEN_SUCCESS ? workspace_of(arrays) : 0;
    return status;
}

extern "C" const char* rotary_embedding_error_string(int status)
{
    using namespace kgen_rotary_embedding;
    return message_of(status, OPERANDS, 4);
}

#endif
