// Made by kgen 0.1.0 from fused_qk_norm_rope_cache_quant.k. Do not edit; remake it with
//     kgen compile fused_qk_norm_rope_cache_quant.k -o fused_qk_norm_rope_cache_quant.cu --dtype qkv=bf16,q_weight=bf16,k_weight=bf16,cos_sin_cache=bf16,positions=i64,slot_mapping=i64,k_scale=f32,v_scale=f32,query=bf16,key_cache=e4m3fn,value_cache=e4m3fn --shape qkv=1024x48x128,q_weight=128,k_weight=128,cos_sin_cache=8192x128,positions=1024,slot_mapping=1024,k_scale=1,v_scale=1,query=1024x32x128,key_cache=512x16x8x128,value_cache=512x16x8x128
//
//     # rms_norm of each head of queries and keys, and their rotary embedding (NeoX) by positions.  Keys and values go into
//     # caches in fp8.
//     # qkv: [tokens, heads, size], the heads of queries, of keys, then of values; query: [tokens, num_heads, size];
//     # key_cache, value_cache: [pages, page size, num_kv_heads, size]; k_scale, v_scale: what one unit in each stands for.
//     input qkv, q_weight, k_weight, cos_sin_cache, positions, slot_mapping, k_scale: float, v_scale: float
//     inout query, key_cache, value_cache
//     param num_heads: int, num_kv_heads: int, epsilon = 1e-6
//     let h = size(qkv, -1) // 2
//     let a = cast<float>(qkv[..., :h])
//     let b = cast<float>(qkv[..., h:])
//     let head = index(1)
//     let key = head - num_heads
//     let value = key - num_kv_heads
//     let is_query = key < 0
//     let scale = rsqrt(sum(a ** 2 + b ** 2, axis=-1, keepdims=true) / size(qkv, -1) + epsilon)
//     let u = a * scale * (is_query ? q_weight[:h] : k_weight[:h])
//     let v = b * scale * (is_query ? q_weight[h:] : k_weight[h:])
//     let cos = expand(cos_sin_cache[positions, :h], axis=1)
//     let sin = expand(cos_sin_cache[positions, h:], axis=1)
//     let rotated = concat(u * cos - v * sin, v * cos + u * sin, axis=-1)
//     let slot = expand(slot_mapping, axis=1)
//     let page = slot < 0 ? size(key_cache, 0) : slot // size(key_cache, 1)
//     let place = slot % size(key_cache, 1)
//     query[index(0), head] = cast<typeof(query)>(rotated) if is_query
//     let values = concat(a, b, axis=-1)
//     key_cache[page, place, key] = cast<typeof(key_cache), sat>(rotated * (1 / k_scale)) if key >= 0 and value < 0
//     value_cache[page, place, value] = cast<typeof(value_cache), sat>(values * (1 / v_scale)) if value >= 0
//
// Inputs:  qkv: bfloat16, q_weight: bfloat16, k_weight: bfloat16, cos_sin_cache: bfloat16, positions: int64, slot_mapping: int64, k_scale: float32, v_scale: float32, query: bfloat16 (updated in place), key_cache: float8_e4m3fn (updated in place), value_cache: float8_e4m3fn (updated in place), num_heads: int32 (by value), num_kv_heads: int32 (by value), epsilon: float32 (by value)
// Views:   qkv_1 = qkv[:, :, :size(qkv, 2) // 2], qkv_2 = qkv[:, :, size(qkv, 2) // 2:], cos_sin_cache_1 = cos_sin_cache[:, :size(qkv, 2) // 2], cos_sin_cache_2 = cos_sin_cache[:, size(qkv, 2) // 2:], q_weight_1 = q_weight[:size(qkv, 2) // 2], k_weight_1 = k_weight[:size(qkv, 2) // 2], q_weight_2 = q_weight[size(qkv, 2) // 2:], k_weight_2 = k_weight[size(qkv, 2) // 2:], query_1 = query[:, :, :n16], query_2 = query[:, :, n16:], key_cache_1 = key_cache[:, :, :, :n16], key_cache_2 = key_cache[:, :, :, n16:], value_cache_1 = value_cache[:, :, :, :n16], value_cache_2 = value_cache[:, :, :, n16:]
//
// Chosen: rows: 8 threads share a row of 64 elements and keep it in registers, 8 elements each: one pass over memory.
// Chosen: prefetched: operands that all rows share are loaded with the row, ahead of the reductions.
// Chosen: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_bf16.h>
#include <cuda_fp8.h>

namespace kgen_fused_qk_norm_rope_cache_quant {

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

// Converts bfloat16 to float by a shift, which the compiler can fold; __bfloat162float is inline assembly.
static __device__ __forceinline__ float to_float(__nv_bfloat16 x)
{
    const unsigned int upper = __bfloat16_as_ushort(x);
    return __uint_as_float(upper << 16);
}

// a - b that wraps: signed overflow is undefined, unsigned is not.
static __device__ __forceinline__ long long wrap_sub(long long a, long long b)
{
    return (long long)((unsigned long long)a - (unsigned long long)b);
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

// A row at a computed place.  Where it is not inside of its array, elements read as zeros, and none is written.
template <typename T>
struct Row {
    T* start;
    bool inside;
};

// a / b rounded down; a // 0 is 0, and LLONG_MIN // -1 wraps to LLONG_MIN.  32 bits where both fit: half the time.
static __device__ __forceinline__ long long floor_div(long long a, long long b)
{
    if (b == 0) return 0;
    if ((unsigned long long)(a | b) >> 32 == 0) return (unsigned int)a / (unsigned int)b;
    if (b == -1) return (long long)(0 - (unsigned long long)a);
    return a / b - (a % b != 0 && (a ^ b) < 0);
}

// a * b that wraps: signed overflow is undefined, unsigned is not.
static __device__ __forceinline__ long long wrap_mul(long long a, long long b)
{
    return (long long)((unsigned long long)a * (unsigned long long)b);
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

// Writes a group of 4, 8 or 16 bytes at once.  The compiler would put narrow elements together first, or write a group
// in parts where elements of several are computed together.
template <typename Group>
static __device__ __forceinline__ void store_words(void* to, const Group& group)
{
#if defined(__CUDA_ARCH__)
    uint4 words = {};
    memcpy(&words, &group, sizeof(group));
    const unsigned long long at = __cvta_generic_to_global(to);
    if (sizeof(group) == 16) {
        asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(words.x), "r"(words.y), "r"(words.z),
                     "r"(words.w)
                     : "memory");
    } else if (sizeof(group) == 8) {
        asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(at), "r"(words.x), "r"(words.y) : "memory");
    } else {
        asm volatile("st.global.u32 [%0], %1;" ::"l"(at), "r"(words.x) : "memory");
    }
#else
    *static_cast<Group*>(to) = group;
#endif
}

// Rounds a group of floats to fp8, four at a time.  Returns whether no result is NaN.
template <__nv_fp8_interpretation_t Kind, int N, typename Group>
static __device__ __forceinline__ bool round_group(const float (&x)[N], Group& group)
{
    const unsigned int to_sign = Kind == __NV_E4M3 ? 0x01010101u : 0x03030303u;  // from the magnitude of the first NaN
    unsigned int carries = 0;
    #pragma unroll
    for (int j = 0; j < N; j += 4) {
        const unsigned int low = __nv_cvt_float2_to_fp8x2(make_float2(x[j], x[j + 1]), __NV_SATFINITE, Kind);
        const unsigned int high = __nv_cvt_float2_to_fp8x2(make_float2(x[j + 2], x[j + 3]), __NV_SATFINITE, Kind);
        const unsigned int word = low | high << 16;
        memcpy(&group.at[j], &word, sizeof(word));
        carries |= (word & 0x7f7f7f7fu) + to_sign;
    }
    return (carries & 0x80808080u) == 0;
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
};

// Accumulates one element into sum.
static __device__ __forceinline__ void
fused_qk_norm_rope_cache_quant_pass(const __nv_bfloat16 qkv_1_v,
                                    const __nv_bfloat16 qkv_2_v,
                                    Sum<float>& sum_acc)
{
    const float a_v = to_float(qkv_1_v);
    const float b_v = to_float(qkv_2_v);
    // let scale = rsqrt(sum(a ** 2 + b ** 2, axis=-1, keepdims=true) / size(qkv, -1) + epsilon)
    sum_acc.add(a_v * a_v + b_v * b_v);
}

// One element of query_1 and query_2.
static __device__ __forceinline__ void
fused_qk_norm_rope_cache_quant_element1(const __nv_bfloat16 qkv_1_v,
                                        const __nv_bfloat16 qkv_2_v,
                                        const __nv_bfloat16 q_weight_1_v,
                                        const __nv_bfloat16 k_weight_1_v,
                                        const __nv_bfloat16 q_weight_2_v,
                                        const __nv_bfloat16 k_weight_2_v,
                                        const float scale_v,
                                        const bool is_query_v,
                                        const __nv_bfloat16 cos_sin_cache_1_v,
                                        const __nv_bfloat16 cos_sin_cache_2_v,
                                        __nv_bfloat16& query_1_v,
                                        __nv_bfloat16& query_2_v)
{
    const float a_v = to_float(qkv_1_v);
    const float b_v = to_float(qkv_2_v);
    const float cos_v = to_float(cos_sin_cache_1_v);
    const float sin_v = to_float(cos_sin_cache_2_v);
    const float q_weight_1_f32 = to_float(q_weight_1_v);
    const float k_weight_1_f32 = to_float(k_weight_1_v);
    const float q_weight_2_f32 = to_float(q_weight_2_v);
    const float k_weight_2_f32 = to_float(k_weight_2_v);
    // let u = a * scale * (is_query ? q_weight[:h] : k_weight[:h])
    const float u_v = a_v * scale_v * (is_query_v ? q_weight_1_f32 : k_weight_1_f32);
    // let v = b * scale * (is_query ? q_weight[h:] : k_weight[h:])
    const float v_v = b_v * scale_v * (is_query_v ? q_weight_2_f32 : k_weight_2_f32);
    // query[index(0), head] = cast<typeof(query)>(rotated) if is_query
    query_1_v = __float2bfloat16_rn(u_v * cos_v - v_v * sin_v);
    query_2_v = __float2bfloat16_rn(v_v * cos_v + u_v * sin_v);
}

// One element of key_cache_1 and key_cache_2.
static __device__ __forceinline__ void
fused_qk_norm_rope_cache_quant_element2(const __nv_bfloat16 qkv_1_v,
                                        const __nv_bfloat16 qkv_2_v,
                                        const __nv_bfloat16 q_weight_1_v,
                                        const __nv_bfloat16 k_weight_1_v,
                                        const __nv_bfloat16 q_weight_2_v,
                                        const __nv_bfloat16 k_weight_2_v,
                                        const float scale_v,
                                        const bool is_query_v,
                                        const float quotient_v,
                                        const __nv_bfloat16 cos_sin_cache_1_v,
                                        const __nv_bfloat16 cos_sin_cache_2_v,
                                        float& key_cache_1_v,
                                        float& key_cache_2_v)
{
    const float a_v = to_float(qkv_1_v);
    const float b_v = to_float(qkv_2_v);
    const float cos_v = to_float(cos_sin_cache_1_v);
    const float sin_v = to_float(cos_sin_cache_2_v);
    const float q_weight_1_f32 = to_float(q_weight_1_v);
    const float k_weight_1_f32 = to_float(k_weight_1_v);
    const float q_weight_2_f32 = to_float(q_weight_2_v);
    const float k_weight_2_f32 = to_float(k_weight_2_v);
    // let u = a * scale * (is_query ? q_weight[:h] : k_weight[:h])
    const float u_v = a_v * scale_v * (is_query_v ? q_weight_1_f32 : k_weight_1_f32);
    // let v = b * scale * (is_query ? q_weight[h:] : k_weight[h:])
    const float v_v = b_v * scale_v * (is_query_v ? q_weight_2_f32 : k_weight_2_f32);
    // key_cache[page, place, key] = cast<typeof(key_cache), sat>(rotated * (1 / k_scale)) if key >= 0 and value < 0
    key_cache_1_v = (u_v * cos_v - v_v * sin_v) * quotient_v;
    key_cache_2_v = (v_v * cos_v + u_v * sin_v) * quotient_v;
}

// One element of value_cache_1 and value_cache_2.
static __device__ __forceinline__ void
fused_qk_norm_rope_cache_quant_element3(const __nv_bfloat16 qkv_1_v,
                                        const __nv_bfloat16 qkv_2_v,
                                        const float quotient_v3,
                                        float& value_cache_1_v,
                                        float& value_cache_2_v)
{
    const float a_v = to_float(qkv_1_v);
    const float b_v = to_float(qkv_2_v);
    // value_cache[page, place, value] = cast<typeof(value_cache), sat>(values * (1 / v_scale)) if value >= 0
    value_cache_1_v = a_v * quotient_v3;
    value_cache_2_v = b_v * quotient_v3;
}

// Where the rows lie; strides and steps in elements.
struct fused_qk_norm_rope_cache_quant_reduce_regs64_layout {
    long long positions_stride[2];  // of positions and slot_mapping
    long long qkv_1_stride[2];  // of qkv_1 and qkv_2
    int width;  // elements of a row
    unsigned int extent;  // of rows
    unsigned int magic;  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int shift;  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
};

// Rows of up to 64 elements, kept in registers: 16 rows a block, 8 threads a row.
// Launch: ceil(n / 16) blocks of 128 threads, for n rows.
// Limits: fewer than 2^31 rows, and every place within a row, in bytes, below 2^31.
// Alignment, in bytes: 16 for qkv_1, qkv_2, q_weight_1, k_weight_1, q_weight_2 and k_weight_2.
// Vector accesses: row widths and row strides are multiples of 8 elements.
extern "C" __global__ void __launch_bounds__(128)
fused_qk_norm_rope_cache_quant_reduce_regs64(const long long* positions_ptr,
                                             const long long* slot_mapping_ptr,
                                             const float* k_scale_ptr,
                                             const float* v_scale_ptr,
                                             const __nv_bfloat16* qkv_1_ptr,
                                             const __nv_bfloat16* qkv_2_ptr,
                                             const __nv_bfloat16* cos_sin_cache_1_ptr,
                                             const __nv_bfloat16* cos_sin_cache_2_ptr,
                                             const __nv_bfloat16* q_weight_1_ptr,
                                             const __nv_bfloat16* k_weight_1_ptr,
                                             const __nv_bfloat16* q_weight_2_ptr,
                                             const __nv_bfloat16* k_weight_2_ptr,
                                             __nv_bfloat16* __restrict__ query_1_ptr,
                                             __nv_bfloat16* __restrict__ query_2_ptr,
                                             __nv_fp8_e4m3* __restrict__ key_cache_1_ptr,
                                             __nv_fp8_e4m3* __restrict__ key_cache_2_ptr,
                                             __nv_fp8_e4m3* __restrict__ value_cache_1_ptr,
                                             __nv_fp8_e4m3* __restrict__ value_cache_2_ptr,
                                             const ArrayShape<2> cos_sin_cache_1_shape,
                                             const ArrayShape<3> query_1_shape,
                                             const ArrayShape<4> key_cache_1_shape,
                                             const ArrayShape<4> value_cache_1_shape,
                                             const int num_heads_v,
                                             const int num_kv_heads_v,
                                             const long long qkv_size2,
                                             const float epsilon_v,
                                             const long long cos_sin_cache_size0,
                                             const long long key_cache_size0,
                                             const long long key_cache_size1,
                                             const long long key_cache_size2,
                                             const long long value_cache_size2,
                                             const fused_qk_norm_rope_cache_quant_reduce_regs64_layout layout,
                                             const unsigned int n)
{
    const int thread = threadIdx.x % 8;
    const bool live = blockIdx.x * 16u + threadIdx.x / 8 < n;  // the last block may have fewer rows
    const unsigned int row = live ? blockIdx.x * 16u + threadIdx.x / 8 : 0;
    const int width = live ? layout.width : 0;
    const unsigned int q0 = (__umulhi(row, layout.magic) + row) >> layout.shift;
    const unsigned int c0 = row - q0 * layout.extent;
    const unsigned int c1 = q0;
    const __nv_bfloat16* const qkv_1_row = qkv_1_ptr + c0 * layout.qkv_1_stride[0]
                                                     + c1 * layout.qkv_1_stride[1];
    const __nv_bfloat16* const qkv_2_row = qkv_2_ptr + c0 * layout.qkv_1_stride[0]
                                                     + c1 * layout.qkv_1_stride[1];
    const int i = 8 * thread;
    wait_for_earlier_kernels();
    const float k_scale_v = k_scale_ptr[0];
    const float v_scale_v = v_scale_ptr[0];
    const long long positions_v = positions_ptr[c0 * layout.positions_stride[0] + c1 * layout.positions_stride[1]];
    const long long index1 = c0;
    const long long index0 = c1;
    const long long slot_mapping_v =
        slot_mapping_ptr[c0 * layout.positions_stride[0] + c1 * layout.positions_stride[1]];
    // let key = head - num_heads
    const long long key_v = wrap_sub(index1, (long long)num_heads_v);
    // let is_query = key < 0
    const bool is_query_v = key_v < 0ll;
    // let value = key - num_kv_heads
    const long long value_v = wrap_sub(key_v, (long long)num_kv_heads_v);
    // key_cache[page, place, key] = cast<typeof(key_cache), sat>(rotated * (1 / k_scale)) if key >= 0 and value < 0
    const bool t = value_v < 0ll;
    const bool t2 = key_v >= 0ll && t;
    // value_cache[page, place, value] = cast<typeof(value_cache), sat>(values * (1 / v_scale)) if value >= 0
    const bool t3 = value_v >= 0ll;
    // let cos = expand(cos_sin_cache[positions, :h], axis=1)
    const long long cos_sin_cache_1_place0 = positions_v < 0ll
        ? wrap_add(positions_v, cos_sin_cache_size0) : positions_v;
    const bool cos_sin_cache_1_inside = is_inside(cos_sin_cache_1_place0, cos_sin_cache_1_shape.extent[0]);
    const long long cos_sin_cache_1_at = cos_sin_cache_1_inside
        ? cos_sin_cache_1_place0 * cos_sin_cache_1_shape.stride[0] : 0;
    const Row<const __nv_bfloat16> cos_sin_cache_1_row =
        {cos_sin_cache_1_ptr + cos_sin_cache_1_at, cos_sin_cache_1_inside};
    const Row<const __nv_bfloat16> cos_sin_cache_2_row =
        {cos_sin_cache_2_ptr + cos_sin_cache_1_at, cos_sin_cache_1_inside};

    Pack<__nv_bfloat16, 8, 16> qkv_1_vec;
    Pack<__nv_bfloat16, 8, 16> qkv_2_vec;
    Pack<__nv_bfloat16, 8, 16> q_weight_1_vec;
    Pack<__nv_bfloat16, 8, 16> k_weight_1_vec;
    Pack<__nv_bfloat16, 8, 16> q_weight_2_vec;
    Pack<__nv_bfloat16, 8, 16> k_weight_2_vec;
    Pack<__nv_bfloat16, 8, 16> cos_sin_cache_1_gathered;
    Pack<__nv_bfloat16, 8, 16> cos_sin_cache_2_gathered;
    if (i < width) {
        qkv_1_vec = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(qkv_1_row + i);
        qkv_2_vec = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(qkv_2_row + i);
        q_weight_1_vec = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(q_weight_1_ptr + i);
        k_weight_1_vec = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(k_weight_1_ptr + i);
        q_weight_2_vec = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(q_weight_2_ptr + i);
        k_weight_2_vec = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(k_weight_2_ptr + i);
        cos_sin_cache_1_gathered = load_gathered<Pack<__nv_bfloat16, 8, 16>>(cos_sin_cache_1_row, i);
        cos_sin_cache_2_gathered = load_gathered<Pack<__nv_bfloat16, 8, 16>>(cos_sin_cache_2_row, i);
    }

    auto sum_acc = Sum<float>::identity();
    if (i < width) {
        keep_packed(qkv_1_vec);
        keep_packed(qkv_2_vec);
        auto sum_part = Sum<float>::identity();
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            fused_qk_norm_rope_cache_quant_pass(extract(qkv_1_vec, j), extract(qkv_2_vec, j),
                                                sum_part);
        }
        sum_acc.merge(sum_part);
    }
    #pragma unroll
    for (int d = 4; d > 0; d /= 2) {
        sum_acc.merge(sum_acc.shuffle_xor(d));
    }
    const float sum_v = sum_acc.result();
    // let scale = rsqrt(sum(a ** 2 + b ** 2, axis=-1, keepdims=true) / size(qkv, -1) + epsilon)
    const float scale_v = rsqrtf(sum_v / (float)qkv_size2 + epsilon_v);

    if (is_query_v) {
        const bool query_1_inside = is_inside(index0, query_1_shape.extent[0]) &&
            is_inside(index1, query_1_shape.extent[1]);
        const long long query_1_at = query_1_inside
            ? index0 * query_1_shape.stride[0] + index1 * query_1_shape.stride[1] : 0;
        const Row<__nv_bfloat16> query_1_row = {query_1_ptr + query_1_at, query_1_inside};
        const Row<__nv_bfloat16> query_2_row = {query_2_ptr + query_1_at, query_1_inside};
        if (i < width) {
            keep_packed(qkv_1_vec);
            keep_packed(qkv_2_vec);
            keep_packed(q_weight_1_vec);
            keep_packed(k_weight_1_vec);
            keep_packed(q_weight_2_vec);
            keep_packed(k_weight_2_vec);
            keep_packed(cos_sin_cache_1_gathered);
            keep_packed(cos_sin_cache_2_gathered);
            Pack<__nv_bfloat16, 8, 16> query_1_gathered;
            Pack<__nv_bfloat16, 8, 16> query_2_gathered;
            #pragma unroll
            for (int j = 0; j < 8; ++j) {
                fused_qk_norm_rope_cache_quant_element1(extract(qkv_1_vec, j), extract(qkv_2_vec, j),
                                                        extract(q_weight_1_vec, j),
                                                        extract(k_weight_1_vec, j),
                                                        extract(q_weight_2_vec, j),
                                                        extract(k_weight_2_vec, j), scale_v, is_query_v,
                                                        extract(cos_sin_cache_1_gathered, j),
                                                        extract(cos_sin_cache_2_gathered, j),
                                                        query_1_gathered.at[j], query_2_gathered.at[j]);
            }
            if (query_1_row.inside) {
                store_words(query_1_row.start + i, query_1_gathered);
            }
            if (query_2_row.inside) {
                store_words(query_2_row.start + i, query_2_gathered);
            }
        }
    }

    if (t2) {
        // key_cache[page, place, key] = cast<typeof(key_cache), sat>(rotated * (1 / k_scale)) if key >= 0 and value < 0
        const float quotient_v = 1.0f / k_scale_v;
        // let page = slot < 0 ? size(key_cache, 0) : slot // size(key_cache, 1)
        const long long quotient_v2 = floor_div(slot_mapping_v, key_cache_size1);
        const long long page_v = slot_mapping_v < 0ll ? key_cache_size0 : quotient_v2;
        // let place = slot % size(key_cache, 1)
        const long long t4 = wrap_sub(slot_mapping_v, wrap_mul(quotient_v2, key_cache_size1));
        const long long place_v = key_cache_size1 == 0ll ? 0ll : t4;
        // key_cache[page, place, key] = cast<typeof(key_cache), sat>(rotated * (1 / k_scale)) if key >= 0 and value < 0
        const long long key_cache_1_place2 = is_query_v ? wrap_add(key_v, key_cache_size2) : key_v;
        const bool key_cache_1_inside = is_inside(page_v, key_cache_1_shape.extent[0]) &&
            is_inside(place_v, key_cache_1_shape.extent[1]) &&
            is_inside(key_cache_1_place2, key_cache_1_shape.extent[2]);
        const long long key_cache_1_at = key_cache_1_inside
            ? page_v * key_cache_1_shape.stride[0] + place_v * key_cache_1_shape.stride[1]
            + key_cache_1_place2 * key_cache_1_shape.stride[2] : 0;
        const Row<__nv_fp8_e4m3> key_cache_1_row = {key_cache_1_ptr + key_cache_1_at, key_cache_1_inside};
        const Row<__nv_fp8_e4m3> key_cache_2_row = {key_cache_2_ptr + key_cache_1_at, key_cache_1_inside};
        if (i < width) {
            keep_packed(qkv_1_vec);
            keep_packed(qkv_2_vec);
            keep_packed(q_weight_1_vec);
            keep_packed(k_weight_1_vec);
            keep_packed(q_weight_2_vec);
            keep_packed(k_weight_2_vec);
            keep_packed(cos_sin_cache_1_gathered);
            keep_packed(cos_sin_cache_2_gathered);
            Pack<__nv_fp8_e4m3, 8, 8> key_cache_1_gathered;
            Pack<__nv_fp8_e4m3, 8, 8> key_cache_2_gathered;
            float key_cache_1_floats[8];
            float key_cache_2_floats[8];
            #pragma unroll
            for (int j = 0; j < 8; ++j) {
                fused_qk_norm_rope_cache_quant_element2(extract(qkv_1_vec, j), extract(qkv_2_vec, j),
                                                        extract(q_weight_1_vec, j),
                                                        extract(k_weight_1_vec, j),
                                                        extract(q_weight_2_vec, j),
                                                        extract(k_weight_2_vec, j), scale_v, is_query_v,
                                                        quotient_v,
                                                        extract(cos_sin_cache_1_gathered, j),
                                                        extract(cos_sin_cache_2_gathered, j),
                                                        key_cache_1_floats[j], key_cache_2_floats[j]);
            }
            round_group<__NV_E4M3>(key_cache_1_floats, key_cache_1_gathered);
            round_group<__NV_E4M3>(key_cache_2_floats, key_cache_2_gathered);
            if (key_cache_1_row.inside) {
                store_words(key_cache_1_row.start + i, key_cache_1_gathered);
            }
            if (key_cache_2_row.inside) {
                store_words(key_cache_2_row.start + i, key_cache_2_gathered);
            }
        }
    }

    if (t3) {
        // value_cache[page, place, value] = cast<typeof(value_cache), sat>(values * (1 / v_scale)) if value >= 0
        const float quotient_v3 = 1.0f / v_scale_v;
        // let page = slot < 0 ? size(key_cache, 0) : slot // size(key_cache, 1)
        const long long quotient_v4 = floor_div(slot_mapping_v, key_cache_size1);
        const long long page_v2 = slot_mapping_v < 0ll ? key_cache_size0 : quotient_v4;
        // let place = slot % size(key_cache, 1)
        const long long t5 = wrap_sub(slot_mapping_v, wrap_mul(quotient_v4, key_cache_size1));
        const long long place_v2 = key_cache_size1 == 0ll ? 0ll : t5;
        // value_cache[page, place, value] = cast<typeof(value_cache), sat>(values * (1 / v_scale)) if value >= 0
        const long long value_cache_1_place2 = t ? wrap_add(value_v, value_cache_size2) : value_v;
        const bool value_cache_1_inside = is_inside(page_v2, value_cache_1_shape.extent[0]) &&
            is_inside(place_v2, value_cache_1_shape.extent[1]) &&
            is_inside(value_cache_1_place2, value_cache_1_shape.extent[2]);
        const long long value_cache_1_at = value_cache_1_inside
            ? page_v2 * value_cache_1_shape.stride[0] + place_v2 * value_cache_1_shape.stride[1]
            + value_cache_1_place2 * value_cache_1_shape.stride[2] : 0;
        const Row<__nv_fp8_e4m3> value_cache_1_row =
            {value_cache_1_ptr + value_cache_1_at, value_cache_1_inside};
        const Row<__nv_fp8_e4m3> value_cache_2_row =
            {value_cache_2_ptr + value_cache_1_at, value_cache_1_inside};
        if (i < width) {
            keep_packed(qkv_1_vec);
            keep_packed(qkv_2_vec);
            Pack<__nv_fp8_e4m3, 8, 8> value_cache_1_gathered;
            Pack<__nv_fp8_e4m3, 8, 8> value_cache_2_gathered;
            float value_cache_1_floats[8];
            float value_cache_2_floats[8];
            #pragma unroll
            for (int j = 0; j < 8; ++j) {
                fused_qk_norm_rope_cache_quant_element3(extract(qkv_1_vec, j), extract(qkv_2_vec, j),
                                                        quotient_v3, value_cache_1_floats[j],
                                                        value_cache_2_floats[j]);
            }
            round_group<__NV_E4M3>(value_cache_1_floats, value_cache_1_gathered);
            round_group<__NV_E4M3>(value_cache_2_floats, value_cache_2_gathered);
            if (value_cache_1_row.inside) {
                store_words(value_cache_1_row.start + i, value_cache_1_gathered);
            }
            if (value_cache_2_row.inside) {
                store_words(value_cache_2_row.start + i, value_cache_2_gathered);
            }
        }
    }
    if (gridDim.x <= 132) {  // of more small blocks than an H200 has SMs, the call costs more than it gains
        let_next_kernel_start();
    }
}

}  // namespace kgen_fused_qk_norm_rope_cache_quant

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
#define KGEN_FLOAT32 {2, 32, 1}
#define KGEN_FLOAT8_E4M3FN {10, 8, 1}

namespace kgen_fused_qk_norm_rope_cache_quant {

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
    const long long* slot_mapping_ptr;
    const float* k_scale_ptr;
    const float* v_scale_ptr;
    int num_heads_v;
    int num_kv_heads_v;
    float epsilon_v;
    const __nv_bfloat16* qkv_1_ptr;
    const __nv_bfloat16* qkv_2_ptr;
    const __nv_bfloat16* cos_sin_cache_1_ptr;
    const __nv_bfloat16* cos_sin_cache_2_ptr;
    const __nv_bfloat16* q_weight_1_ptr;
    const __nv_bfloat16* k_weight_1_ptr;
    const __nv_bfloat16* q_weight_2_ptr;
    const __nv_bfloat16* k_weight_2_ptr;
    __nv_bfloat16* query_1_ptr;
    __nv_bfloat16* query_2_ptr;
    __nv_fp8_e4m3* key_cache_1_ptr;
    __nv_fp8_e4m3* key_cache_2_ptr;
    __nv_fp8_e4m3* value_cache_1_ptr;
    __nv_fp8_e4m3* value_cache_2_ptr;
    long long key_cache_size0;
    long long key_cache_size1;
    long long key_cache_size2;
    long long value_cache_size2;
    long long qkv_size2;
    long long cos_sin_cache_size0;
    ArrayShape<2> cos_sin_cache_1_shape;
    ArrayShape<3> query_1_shape;
    ArrayShape<4> key_cache_1_shape;
    ArrayShape<4> value_cache_1_shape;
    cudaStream_t stream;
};

static int launch_fused_qk_norm_rope_cache_quant_reduce_regs64(const Arguments& a, const Space& space)
{
    const long long* const shape = space.shape;
    const auto& strides = space.strides;
    const long long rows = shape[1] * shape[2];
    const long long width = shape[0];
    const long long row_blocks = kgen_ceil_div(rows, 16);
    const fused_qk_norm_rope_cache_quant_reduce_regs64_layout layout = {
        {(shape[1] != 1) ? strides[0][1] : 0, (shape[2] != 1) ? strides[0][2] : 0},
        {(shape[1] != 1) ? strides[4][1] : 0, (shape[2] != 1) ? strides[4][2] : 0},
        (int)width,
        (unsigned int)shape[1],
        (unsigned int)kgen_magic(shape[1]),
        (unsigned int)kgen_shift(shape[1]),
    };
    return launch(fused_qk_norm_rope_cache_quant_reduce_regs64, row_blocks, 1, 128, true, a.stream,
                  a.positions_ptr, a.slot_mapping_ptr, a.k_scale_ptr, a.v_scale_ptr, a.qkv_1_ptr, a.qkv_2_ptr,
                      a.cos_sin_cache_1_ptr, a.cos_sin_cache_2_ptr, a.q_weight_1_ptr, a.k_weight_1_ptr,
                      a.q_weight_2_ptr, a.k_weight_2_ptr, a.query_1_ptr, a.query_2_ptr, a.key_cache_1_ptr,
                      a.key_cache_2_ptr, a.value_cache_1_ptr, a.value_cache_2_ptr, a.cos_sin_cache_1_shape,
                      a.query_1_shape, a.key_cache_1_shape, a.value_cache_1_shape, a.num_heads_v, a.num_kv_heads_v,
                      a.qkv_size2, a.epsilon_v, a.cos_sin_cache_size0, a.key_cache_size0, a.key_cache_size1,
                      a.key_cache_size2, a.value_cache_size2, layout, (unsigned int)rows);
}

const Operand OPERANDS[] = {
    {"qkv", KGEN_BFLOAT16, 3, false},
    {"q_weight", KGEN_BFLOAT16, 1, false},
    {"k_weight", KGEN_BFLOAT16, 1, false},
    {"cos_sin_cache", KGEN_BFLOAT16, 2, false},
    {"positions", KGEN_INT64, 1, false},
    {"slot_mapping", KGEN_INT64, 1, false},
    {"k_scale", KGEN_FLOAT32, 1, false},
    {"v_scale", KGEN_FLOAT32, 1, false},
    {"query", KGEN_BFLOAT16, 3, true},
    {"key_cache", KGEN_FLOAT8_E4M3FN, 4, true},
    {"value_cache", KGEN_FLOAT8_E4M3FN, 4, true},
};

// What a call launches for one kernel of the program: nothing where there is nothing to compute.
struct Choice {
    int (*launch)(const Arguments&, const Space&);
    Space space;
};

// Checks the arrays, and that they have the layouts that the kernels are for, and decides on the kernels.
static int decide(const kgen_array* const* given, Array* arrays, Choice* choices)
{
    int status = read_arrays(given, OPERANDS, 11, arrays);
    if (status == KGEN_SUCCESS) status = check_layout(arrays[0], 1, {1024, 48, 128}, {6144, 128, 1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[1], 2, {128}, {1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[2], 3, {128}, {1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[3], 4, {8192, 128}, {128, 1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[4], 5, {1024}, {1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[5], 6, {1024}, {1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[6], 7, {1}, {1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[7], 8, {1}, {1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[8], 9, {1024, 32, 128}, {4096, 128, 1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[9], 10, {512, 16, 8, 128}, {16384, 1024, 128, 1});
    if (status == KGEN_SUCCESS) status = check_layout(arrays[10], 11, {512, 16, 8, 128}, {16384, 1024, 128, 1});
    if (status != KGEN_SUCCESS || (arrays[8].size == 0 && arrays[9].size == 0 && arrays[10].size == 0)) return status;
    choices[0].launch = launch_fused_qk_norm_rope_cache_quant_reduce_regs64;
    choices[0].space = {3, {64, 48, 1024},
        {{0, 0, 1}, {0, 0, 1}, {0, 0, 0}, {0, 0, 0}, {1, 128, 6144}, {1, 128, 6144}, {1, 0, 0}, {1, 0, 0}, {1, 0, 0},
        {1, 0, 0}}};
    return mark_unaligned(arrays, OPERANDS, {0, 1, 2, 3, 8, 9, 10});
}

// The bytes of a call: copies of unaligned arrays, buffers between kernels, then scratch memory, which these share.
static size_t workspace_of(const Array* arrays)
{
    return bytes_of_copies(arrays, 11);
}

}  // namespace kgen_fused_qk_norm_rope_cache_quant

extern "C" int fused_qk_norm_rope_cache_quant_launch(const kgen_array* qkv_array,
                                                     const kgen_array* q_weight_array,
                                                     const kgen_array* k_weight_array,
                                                     const kgen_array* cos_sin_cache_array,
                                                     const kgen_array* positions_array,
                                                     const kgen_array* slot_mapping_array,
                                                     const kgen_array* k_scale_array,
                                                     const kgen_array* v_scale_array,
                                                     const kgen_array* query_array,
                                                     const kgen_array* key_cache_array,
                                                     const kgen_array* value_cache_array,
                                                     int64_t num_heads_value,
                                                     int64_t num_kv_heads_value,
                                                     double epsilon_value,
                                                     void* workspace,
                                                     size_t workspace_bytes,
                                                     cudaStream_t stream)
{
    using namespace kgen_fused_qk_norm_rope_cache_quant;
    const kgen_array* const given[] = {qkv_array, q_weight_array, k_weight_array, cos_sin_cache_array, positions_array,
        slot_mapping_array, k_scale_array, v_scale_array, query_array, key_cache_array, value_cache_array};
    Array arrays[11];
    Choice choices[1] = {};
    int status = decide(given, arrays, choices);
    if (status == KGEN_SUCCESS) {
        status = check_workspace(workspace, workspace_bytes, workspace_of(arrays));
    }
    if (status != KGEN_SUCCESS) return status;
    char* memory = static_cast<char*>(workspace);
    status = copy_unaligned(arrays, 11, &memory, stream);
    if (status != KGEN_SUCCESS) return status;
    const uintptr_t qkv_address = arrays[0].address;
    const uintptr_t q_weight_address = arrays[1].address;
    const uintptr_t k_weight_address = arrays[2].address;
    const uintptr_t cos_sin_cache_address = arrays[3].address;
    const uintptr_t query_address = arrays[8].address;
    const uintptr_t key_cache_address = arrays[9].address;
    const uintptr_t value_cache_address = arrays[10].address;
    const Arguments a = {
        reinterpret_cast<const long long*>(arrays[4].address),
        reinterpret_cast<const long long*>(arrays[5].address),
        reinterpret_cast<const float*>(arrays[6].address),
        reinterpret_cast<const float*>(arrays[7].address),
        (int)num_heads_value,
        (int)num_kv_heads_value,
        (float)epsilon_value,
        reinterpret_cast<const __nv_bfloat16*>(qkv_address),
        reinterpret_cast<const __nv_bfloat16*>(qkv_address + 128),
        reinterpret_cast<const __nv_bfloat16*>(cos_sin_cache_address),
        reinterpret_cast<const __nv_bfloat16*>(cos_sin_cache_address + 128),
        reinterpret_cast<const __nv_bfloat16*>(q_weight_address),
        reinterpret_cast<const __nv_bfloat16*>(k_weight_address),
        reinterpret_cast<const __nv_bfloat16*>(q_weight_address + 128),
        reinterpret_cast<const __nv_bfloat16*>(k_weight_address + 128),
        reinterpret_cast<__nv_bfloat16*>(query_address),
        reinterpret_cast<__nv_bfloat16*>(query_address + 128),
        reinterpret_cast<__nv_fp8_e4m3*>(key_cache_address),
        reinterpret_cast<__nv_fp8_e4m3*>(key_cache_address + 64),
        reinterpret_cast<__nv_fp8_e4m3*>(value_cache_address),
        reinterpret_cast<__nv_fp8_e4m3*>(value_cache_address + 64),
        512,
        16,
        8,
        8,
        128,
        8192,
        {{8192, 64}, {128, 1}},
        {{1024, 32, 64}, {4096, 128, 1}},
        {{512, 16, 8, 64}, {16384, 1024, 128, 1}},
        {{512, 16, 8, 64}, {16384, 1024, 128, 1}},
        stream,
    };
    for (const Choice& choice : choices) {
        if (status == KGEN_SUCCESS && choice.launch != nullptr) status = choice.launch(a, choice.space);
    }
    if (status == KGEN_SUCCESS) status = copy_back(arrays, OPERANDS, 11, stream);
    return status;
}

extern "C" int fused_qk_norm_rope_cache_quant_workspace_size(const kgen_array* qkv_array,
                                                             const kgen_array* q_weight_array,
                                                             const kgen_array* k_weight_array,
                                                             const kgen_array* cos_sin_cache_array,
                                                             const kgen_array* positions_array,
                                                             const kgen_array* slot_mapping_array,
                                                             const kgen_array* k_scale_array,
                                                             const kgen_array* v_scale_array,
                                                             const kgen_array* query_array,
                                                             const kgen_array* key_cache_array,
                                                             const kgen_array* value_cache_array,
                                                             size_t* bytes)
{
    using namespace kgen_fused_qk_norm_rope_cache_quant;
    const kgen_array* const given[] = {qkv_array, q_weight_array, k_weight_array, cos_sin_cache_array, positions_array,
        slot_mapping_array, k_scale_array, v_scale_array, query_array, key_cache_array, value_cache_array};
    Array arrays[11];
    Choice choices[1] = {};
    const int status = decide(given, arrays, choices);
    *bytes = status == KGEN_SUCCESS ? workspace_of(arrays) : 0;
    return status;
}

extern "C" const char* fused_qk_norm_rope_cache_quant_error_string(int status)
{
    using namespace kgen_fused_qk_norm_rope_cache_quant;
    return message_of(status, OPERANDS, 11);
}

#endif
