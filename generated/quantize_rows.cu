// Made by kgen 0.1.0 from quantize_rows.k. Do not edit; remake it with
//     kgen compile quantize_rows.k -o quantize_rows.cu --dtype x=bf16 --shape x=16384x4096
//
//     # Quantises rows to int8, each with the scale that makes its largest magnitude 127.
//     scale: float = max(max(abs(x), axis=-1, keepdims=true), 1e-12) / 127
//     q = cast<i8, sat, rne>(x / scale)
//
// Inputs:  x: bfloat16
// Outputs: scale: float32, q: int8
//
// Chosen: rows: 128 threads share a row of 4096 elements and keep it in registers, 32 elements each: one pass over memory.
// Chosen: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_bf16.h>

namespace kgen_quantize_rows {

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

// The lower bound of a type: -inf, or the smallest integer.
template <typename T>
static __device__ __forceinline__ T lowest()
{
    const bool is_float = (T)0.5 != 0, is_signed = (T)-1 < (T)0;
    return is_float ? (T)__int_as_float(0xff800000) : is_signed ? (T)(1ull << (8 * sizeof(T) - 1)) : (T)0;
}

// 1 / b for divide(); NaN where b is so small or large that a step might underflow or overflow.
static __device__ __forceinline__ float reciprocal(float b)
{
    return fabsf(b) > 1e-10f && fabsf(b) < 1e12f ? 1.0f / b : __int_as_float(0x7fffffff);
}

// a / b, rounded to nearest, where r = reciprocal(b) is not NaN.  Sets is_exact to false where that needs a
// division; the caller then computes the group again with UseReciprocal = false.
template <bool UseReciprocal>
static __device__ __forceinline__ float divide(float a, float b, float r, bool& is_exact)
{
    if (!UseReciprocal) {
        return a / b;
    }
    // 2^-66 <= |q| < 2^119: no step underflows or overflows (P. Markstein, 1990).
    const float q = a * r, near = fmaf(fmaf(-q, b, a), r, q);
    const bool is_zero = a == 0;
    is_exact = is_exact & ((2 * __float_as_uint(q) - 0x3d000000u < 0xb9000000u) | is_zero);
    return is_zero ? q : near;  // -0 / b is -0; the fma would give +0
}

// a / b, rounded to nearest (P. Markstein, 1990).  r = reciprocal(b) is computed once a row.
static __device__ __forceinline__ float divide(float a, float b, float r)
{
    const float q = a * r;
    if (fabsf(q) > 1e-20f && fabsf(q) < 1e36f) {
        return fmaf(fmaf(-q, b, a), r, q);
    }
    return a == 0 && r == r ? q : a / b;
}

// Makes a group opaque to the compiler, so that elements stay packed in words until they are used: in half the
// registers, or fewer.
template <typename T, int N, int Bytes>
static __device__ __forceinline__ void keep_packed(Pack<T, N, Bytes>& x)
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

// The maximum of some floats; NaN if any is.
template <typename T>
struct Max {
    T value;

    static __device__ __forceinline__ Max identity() { return {lowest<T>()}; }

    __device__ __forceinline__ void add(T x) { value = nan_max(value, x); }
    __device__ __forceinline__ void merge(const Max& other) { value = nan_max(value, other.value); }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ Max shuffle_xor(int d) const { return {__shfl_xor_sync(0xffffffffu, value, d)}; }

    __device__ __forceinline__ T result() const { return value; }
};

// Accumulates one element into max.
static __device__ __forceinline__ void
quantize_rows_pass(const __nv_bfloat16 x_v, Max<float>& max_acc)
{
    // scale: float = max(max(abs(x), axis=-1, keepdims=true), 1e-12) / 127
    max_acc.add(fabsf(to_float(x_v)));
}

// One element of q.
template <bool UseReciprocal>
static __device__ __forceinline__ void
quantize_rows_element(const __nv_bfloat16 x_v,
                      const float t2,
                      const float t2_reciprocal,
                      bool& is_exact,
                      signed char& q_v)
{
    // q = cast<i8, sat, rne>(x / scale)
    const float t = divide<UseReciprocal>(to_float(x_v), t2, t2_reciprocal, is_exact);
    q_v = (signed char)min(max(__float2int_rn(t), -128), 127);
}

// Where the rows lie; strides and steps in elements.
struct quantize_rows_reduce_regs4096_layout {
    long long scale_stride[1];
    long long q_stride[1];  // of q and x
    int width;  // elements of a row
};

// Rows of 3073 to 4096 elements, kept in registers: 128 threads a row.
// Launch: a block of 128 threads for each row.
// Limits: fewer than 2^31 rows, and every place within a row, in bytes, below 2^31.
// Alignment, in bytes: 16 for x; 8 for q.
// Vector accesses: row widths and row strides are multiples of 8 elements.
// No other operand may overlap scale and q in memory.
extern "C" __global__ void __launch_bounds__(128)
quantize_rows_reduce_regs4096(const __nv_bfloat16* x_ptr,
                              float* __restrict__ scale_ptr,
                              signed char* __restrict__ q_ptr,
                              const quantize_rows_reduce_regs4096_layout layout)
{
    const int thread = threadIdx.x;
    const unsigned int row = blockIdx.x;
    signed char* const q_row = q_ptr + row * layout.q_stride[0];
    const __nv_bfloat16* const x_row = x_ptr + row * layout.q_stride[0];
    wait_for_earlier_kernels();

    Pack<__nv_bfloat16, 8, 16> x_vec[4];
    #pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = 8 * (v * 128 + thread);
        if (v < 3 || i < layout.width) {
            x_vec[v] = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(x_row + i);
        }
    }

    __shared__ Max<float> max_warp_partials[4];
    auto max_acc = Max<float>::identity();
    #pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = 8 * (v * 128 + thread);
        if (v < 3 || i < layout.width) {
            keep_packed(x_vec[v]);
            #pragma unroll
            for (int j = 0; j < 8; ++j) {
                quantize_rows_pass(extract(x_vec[v], j), max_acc);
            }
        }
    }
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        max_acc.merge(max_acc.shuffle_xor(d));
    }
    if (threadIdx.x % 32 == 0) {
        max_warp_partials[threadIdx.x / 32] = max_acc;
    }
    __syncthreads();
    max_acc = max_warp_partials[threadIdx.x % 4];
    #pragma unroll
    for (int d = 2; d > 0; d /= 2) {
        max_acc.merge(max_acc.shuffle_xor(d));
    }
    const float max_v = max_acc.result();
    // scale: float = max(max(abs(x), axis=-1, keepdims=true), 1e-12) / 127
    const float t = nan_max(max_v, 1e-12f);
    const float t2 = divide(t, 127.0f, 0.007874016f);
    const float t2_reciprocal = reciprocal(t2);

    #pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = 8 * (v * 128 + thread);
        if (v < 3 || i < layout.width) {
            keep_packed(x_vec[v]);
            Pack<signed char, 8, 8> q_vec;
            bool is_exact = t2_reciprocal == t2_reciprocal;
            #pragma unroll
            for (int j = 0; j < 8; ++j) {
                quantize_rows_element<true>(extract(x_vec[v], j), t2, t2_reciprocal, is_exact,
                                            q_vec.at[j]);
            }
            if (!is_exact) {
                #pragma unroll
                for (int j = 0; j < 8; ++j) {
                    quantize_rows_element<false>(extract(x_vec[v], j), t2, t2_reciprocal, is_exact,
                                                 q_vec.at[j]);
                }
            }
            *reinterpret_cast<Pack<signed char, 8, 8>*>(q_row + i) = q_vec;
        }
    }

    if (thread == 0) {
        scale_ptr[row * layout.scale_stride[0]] = t2;
    }
    let_next_kernel_start();
}

}  // namespace kgen_quantize_rows
