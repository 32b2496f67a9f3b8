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
// Chosen: columns: rows of 96 elements lie side by side in memory; 16 threads go across groups of 8 columns, 16 threads share each and keep it in registers, 6 elements of a column each: one pass over memory.
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
layernorm_channels_pass1(const __nv_bfloat16 x_v, Sum<float>& mean_acc)
{
    // let d = x - mean(x, axis=-1, keepdims=true)
    mean_acc.add(to_float(x_v));
}

// Accumulates one element into mean.
static __device__ __forceinline__ void
layernorm_channels_pass2(const __nv_bfloat16 x_v, const float mean_v, Sum<float>& mean_acc2)
{
    // let d = x - mean(x, axis=-1, keepdims=true)
    const float d_v = to_float(x_v) - mean_v;
    // y = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + eps) * weight + bias
    mean_acc2.add(d_v * d_v);
}

// One element of y.
static __device__ __forceinline__ void
layernorm_channels_element(const __nv_bfloat16 x_v,
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

// Where the columns lie; strides and steps in elements.
struct layernorm_channels_columns_regs96_layout {
    long long y_stride[1];  // of the other kept dimensions
    int height;  // elements of a column
    unsigned int groups;  // of 8 neighbouring columns
    int y_step[1];  // down a column
    int x_step[1];  // down a column
    int weight_step[1];  // down a column
    int bias_step[1];  // down a column
    unsigned int extent[1];  // of groups of columns, then of other kept dimensions
    unsigned int magic[1];  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int shift[1];  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
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
    const unsigned int q0 = (__umulhi(number, layout.magic[0]) + number) >> layout.shift[0];
    const int c0 = (int)(number - q0 * layout.extent[0]);
    const int c1 = (int)q0;
    const int column = 8 * c0;
    __nv_bfloat16* const y_column = y_ptr + column + c1 * layout.y_stride[0];
    const __nv_bfloat16* const x_column = x_ptr + column + c1 * layout.y_stride[0];
    wait_for_earlier_kernels();

    Pack<__nv_bfloat16, 8, 16> x_vec[6];
    #pragma unroll
    for (int v = 0; v < 6; ++v) {
        const int i = v * 16 + down;
        if (i < layout.height) {
            x_vec[v] = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(x_column + i * layout.x_step[0]);
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
    for (int d = 16; d >= 16; d /= 2) {
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            mean_acc[j].merge(mean_acc[j].shuffle_xor(d));
        }
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
        #pragma unroll 8
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

    __shared__ Sum<float> mean_acc2_warp_partials[1024];
    Sum<float> mean_acc2[8];
    float t2[8];
    #pragma unroll
    for (int j = 0; j < 8; ++j) {
        mean_acc2[j] = Sum<float>::identity();
    }
    #pragma unroll
    for (int v = 0; v < 6; ++v) {
        const int i = v * 16 + down;
        if (v < 5 || i < layout.height) {
            keep_packed(x_vec[v]);
            #pragma unroll
            for (int j = 0; j < 8; ++j) {
                layernorm_channels_pass2(extract(x_vec[v], j), mean_v[j], mean_acc2[j]);
            }
        }
    }
    #pragma unroll
    for (int d = 16; d >= 16; d /= 2) {
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            mean_acc2[j].merge(mean_acc2[j].shuffle_xor(d));
        }
    }
    if (threadIdx.x % 32 < 16) {
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            mean_acc2_warp_partials[(threadIdx.x / 32 * 8 + j) * 16 + across] = mean_acc2[j];
        }
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        const int c = threadIdx.x;
        auto mean_acc2_whole = mean_acc2_warp_partials[c];
        #pragma unroll 8
        for (int n = 1; n < 8; ++n) {
            mean_acc2_whole.merge(mean_acc2_warp_partials[c + n * 128]);
        }
        mean_acc2_warp_partials[c] = mean_acc2_whole;
    }
    __syncthreads();
    #pragma unroll
    for (int j = 0; j < 8; ++j) {
        mean_acc2[j] = mean_acc2_warp_partials[j * 16 + across];
        const float mean_v2 = mean_acc2[j].mean(layout.height);
        // y = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + eps) * weight + bias
        const float t = mean_v2 + eps_v;
        t2[j] = rsqrtf(t);
    }

    if (!live) {
        return;
    }

    #pragma unroll
    for (int v = 0; v < 6; ++v) {
        const int i = v * 16 + down;
        if (v < 5 || i < layout.height) {
            keep_packed(x_vec[v]);
            const __nv_bfloat16 weight_in = weight_ptr[i * layout.weight_step[0]];
            const __nv_bfloat16 bias_in = bias_ptr[i * layout.bias_step[0]];
            Pack<__nv_bfloat16, 8, 16> y_vec;
            #pragma unroll
            for (int j = 0; j < 8; ++j) {
                layernorm_channels_element(extract(x_vec[v], j), weight_in, bias_in, mean_v[j], t2[j],
                                           y_vec.at[j]);
            }
            *reinterpret_cast<Pack<__nv_bfloat16, 8, 16>*>(y_column + i * layout.y_step[0]) = y_vec;
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_layernorm_channels
