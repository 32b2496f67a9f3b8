// Made by kgen 0.1.0 from layernorm.k. Do not edit; remake it with
//     kgen compile layernorm.k -o layernorm_bf16.cu --dtype x=bf16,weight=bf16,bias=bf16 --shape x=16384x4096,weight=4096,bias=4096 --name layernorm_bf16
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
// Chosen: rows: 128 threads share a row of 4096 elements and keep it in registers, 32 elements each: one pass over memory.
// Chosen: prefetched: operands that all rows share are loaded with the row, ahead of the reductions.
// Chosen: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_bf16.h>

namespace kgen_layernorm_bf16 {

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

// A sum of floats, or of their squares.
template <typename T>
struct Sum {
    T sum;

    static __device__ __forceinline__ Sum identity() { return {0}; }

    __device__ __forceinline__ void add(T x) { sum += x; }
    __device__ __forceinline__ void add_square(T x) { sum += x * x; }
    __device__ __forceinline__ void merge(const Sum& other) { sum += other.sum; }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ Sum shuffle_xor(int d) const { return {__shfl_xor_sync(0xffffffffu, sum, d)}; }

    __device__ __forceinline__ T result() const { return sum; }
    __device__ __forceinline__ T norm() const { return sqrt(sum); }

    template <typename Count>
    __device__ __forceinline__ T mean(Count count) const { return sum / (T)count; }
};

// Accumulates one element into mean.
static __device__ __forceinline__ void
layernorm_bf16_pass1(const __nv_bfloat16 x_v, Sum<float>& mean_acc)
{
    // let d = x - mean(x, axis=-1, keepdims=true)
    mean_acc.add(to_float(x_v));
}

// Accumulates one element into mean.
static __device__ __forceinline__ void
layernorm_bf16_pass2(const __nv_bfloat16 x_v, const float mean_v, Sum<float>& mean_acc2)
{
    // let d = x - mean(x, axis=-1, keepdims=true)
    const float d_v = to_float(x_v) - mean_v;
    // y = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + eps) * weight + bias
    mean_acc2.add(d_v * d_v);
}

// One element of y.
static __device__ __forceinline__ void
layernorm_bf16_element(const __nv_bfloat16 x_v,
                       const __nv_bfloat16 weight_v,
                       const __nv_bfloat16 bias_v,
                       const float mean_v,
                       const float t2,
                       __nv_bfloat16& y_v)
{
    // let d = x - mean(x, axis=-1, keepdims=true)
    const float d_v = to_float(x_v) - mean_v;
    // y = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + eps) * weight + bias
    y_v = __float2bfloat16_rn(d_v * t2 * to_float(weight_v) + to_float(bias_v));
}

// Where the rows lie; strides and steps in elements.
struct layernorm_bf16_reduce_regs4096_layout {
    long long y_stride[1];  // of y and x
    int width;  // elements of a row
};

// Rows of 3073 to 4096 elements, kept in registers: 128 threads a row.
// Launch: a block of 128 threads for each row.
// Limits: fewer than 2^31 rows, and every place within a row, in bytes, below 2^31.
// Alignment, in bytes: 16 for y, x, weight and bias.
// Vector accesses: row widths and row strides are multiples of 8 elements.
// No other operand may overlap y in memory.
extern "C" __global__ void __launch_bounds__(128)
layernorm_bf16_reduce_regs4096(const __nv_bfloat16* x_ptr,
                               const __nv_bfloat16* weight_ptr,
                               const __nv_bfloat16* bias_ptr,
                               __nv_bfloat16* __restrict__ y_ptr,
                               const float eps_v,
                               const layernorm_bf16_reduce_regs4096_layout layout)
{
    const int thread = threadIdx.x;
    const unsigned int row = blockIdx.x;
    __nv_bfloat16* const y_row = y_ptr + row * layout.y_stride[0];
    const __nv_bfloat16* const x_row = x_ptr + row * layout.y_stride[0];
    wait_for_earlier_kernels();

    Pack<__nv_bfloat16, 8, 16> x_vec[4];
    Pack<__nv_bfloat16, 8, 16> weight_vec[4];
    Pack<__nv_bfloat16, 8, 16> bias_vec[4];
    #pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = 8 * (v * 128 + thread);
        if (v < 3 || i < layout.width) {
            x_vec[v] = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(x_row + i);
            weight_vec[v] = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(weight_ptr + i);
            bias_vec[v] = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(bias_ptr + i);
        }
    }

    __shared__ Sum<float> mean_warp_partials[4];
    auto mean_acc = Sum<float>::identity();
    #pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = 8 * (v * 128 + thread);
        if (v < 3 || i < layout.width) {
            keep_packed(x_vec[v]);
            auto mean_part = Sum<float>::identity();
            #pragma unroll
            for (int j = 0; j < 8; ++j) {
                layernorm_bf16_pass1(extract(x_vec[v], j), mean_part);
            }
            mean_acc.merge(mean_part);
        }
    }
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        mean_acc.merge(mean_acc.shuffle_xor(d));
    }
    if (threadIdx.x % 32 == 0) {
        mean_warp_partials[threadIdx.x / 32] = mean_acc;
    }
    __syncthreads();
    mean_acc = mean_warp_partials[threadIdx.x % 4];
    #pragma unroll
    for (int d = 2; d > 0; d /= 2) {
        mean_acc.merge(mean_acc.shuffle_xor(d));
    }
    const float mean_v = mean_acc.mean(layout.width);

    __shared__ Sum<float> mean_acc2_warp_partials[4];
    auto mean_acc2 = Sum<float>::identity();
    #pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = 8 * (v * 128 + thread);
        if (v < 3 || i < layout.width) {
            keep_packed(x_vec[v]);
            auto mean_acc2_part = Sum<float>::identity();
            #pragma unroll
            for (int j = 0; j < 8; ++j) {
                layernorm_bf16_pass2(extract(x_vec[v], j), mean_v, mean_acc2_part);
            }
            mean_acc2.merge(mean_acc2_part);
        }
    }
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        mean_acc2.merge(mean_acc2.shuffle_xor(d));
    }
    if (threadIdx.x % 32 == 0) {
        mean_acc2_warp_partials[threadIdx.x / 32] = mean_acc2;
    }
    __syncthreads();
    mean_acc2 = mean_acc2_warp_partials[threadIdx.x % 4];
    #pragma unroll
    for (int d = 2; d > 0; d /= 2) {
        mean_acc2.merge(mean_acc2.shuffle_xor(d));
    }
    const float mean_v2 = mean_acc2.mean(layout.width);
    // y = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + eps) * weight + bias
    const float t = mean_v2 + eps_v;
    const float t2 = rsqrtf(t);

    #pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = 8 * (v * 128 + thread);
        if (v < 3 || i < layout.width) {
            keep_packed(x_vec[v]);
            keep_packed(weight_vec[v]);
            keep_packed(bias_vec[v]);
            Pack<__nv_bfloat16, 8, 16> y_vec;
            #pragma unroll
            for (int j = 0; j < 8; ++j) {
                layernorm_bf16_element(extract(x_vec[v], j), extract(weight_vec[v], j),
                                       extract(bias_vec[v], j), mean_v, t2, y_vec.at[j]);
            }
            *reinterpret_cast<Pack<__nv_bfloat16, 8, 16>*>(y_row + i) = y_vec;
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_layernorm_bf16
