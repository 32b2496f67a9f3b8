// Made by kgen 0.1.0 from rmsnorm.k. Do not edit; remake it with
//     kgen compile rmsnorm.k -o rmsnorm_odd.cu --dtype x=bf16,weight=bf16 --shape x=4096x1001,weight=1001 --name rmsnorm_odd
//
//     # Root mean square normalisation over the last axis.
//     input x, weight
//     param eps = 1e-6
//     y = x * rsqrt(mean(x * x, axis=-1, keepdims=true) + eps) * weight
//
// Inputs:  x: bfloat16, weight: bfloat16, eps: float32 (by value)
// Outputs: y: bfloat16
//
// Chosen: rows: 32 threads share a row of 1001 elements and keep it in registers, 32 elements each: one pass over memory.
// Chosen: peeled: rows begin or end between 16-byte accesses, so elements there are taken one by one.
// Chosen: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_bf16.h>

namespace kgen_rmsnorm_odd {

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

// Shifts Count + Block words down by `off` bytes; the first Count words are the result.  off: a multiple of Unit,
// less than Block words.
template <int Count, int Block, int Unit>
static __device__ __forceinline__ void funnel_shift_words(unsigned int* words, unsigned int off)
{
    #pragma unroll
    for (int step = Block / 2; step > 0; step /= 2) {
        #pragma unroll
        for (int k = 0; k < Count + Block - step; ++k) {
            words[k] = off & (4 * step) ? words[k + step] : words[k];
        }
    }
    #pragma unroll
    for (int k = 0; k < (Unit < 4 ? Count : 0); ++k) {
        const unsigned long long pair = static_cast<unsigned long long>(words[k + 1]) << 32 | words[k];
        words[k] = static_cast<unsigned int>(pair >> (8 * (off % 4)));
    }
}

// N elements that begin `off` bytes after an aligned address: loads aligned blocks of Bytes and shifts them.
template <typename T, int N, int Bytes>
static __device__ __forceinline__ Pack<T, N, N * sizeof(T)> load_aligned_blocks(const T* from, unsigned int off)
{
    constexpr int count = N * sizeof(T) / 4, block = Bytes / 4;
    const auto blocks = reinterpret_cast<const Pack<unsigned int, block, Bytes>*>(from);
    Pack<unsigned int, block, Bytes> read[count / block + 1];
    #pragma unroll
    for (int k = 0; k <= count / block; ++k) {
        read[k] = blocks[k];
    }
    unsigned int words[count + block];
    #pragma unroll
    for (int k = 0; k < count + block; ++k) {
        words[k] = read[k / block].at[k % block];
    }
    funnel_shift_words<count, block, sizeof(T)>(words, off);
    Pack<T, N, N * sizeof(T)> result;
    memcpy(&result, words, sizeof(result));
    return result;
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
rmsnorm_odd_pass(const __nv_bfloat16 x_v, Sum<float>& mean_acc)
{
    const float x_f32 = to_float(x_v);
    mean_acc.add(x_f32 * x_f32);
}

// One element of y.
static __device__ __forceinline__ void
rmsnorm_odd_element(const __nv_bfloat16 x_v,
                    const __nv_bfloat16 weight_v,
                    const float t2,
                    __nv_bfloat16& y_v)
{
    y_v = __float2bfloat16_rn(to_float(x_v) * t2 * to_float(weight_v));
}

// Where the rows lie; strides and steps in elements.
struct rmsnorm_odd_reduce_regs1024_peeled_layout {
    long long y_stride[1];  // of y and x
    int width;  // elements of a row
};

// Rows of up to 1031 elements, kept in registers: 2 rows a block, 32 threads a row.
// Launch: ceil(n / 2) blocks of 64 threads, for n rows.
// Limits: fewer than 2^31 rows, and every place within a row, in bytes, below 2^31.
// Groups begin at multiples of 16 bytes in y; x must be aligned there as well.
// Aligned to 16 bytes at the first element, and read as aligned blocks, shifted: weight.
// No other operand may overlap y in memory.
extern "C" __global__ void __launch_bounds__(64)
rmsnorm_odd_reduce_regs1024_peeled(const __nv_bfloat16* x_ptr,
                                   const __nv_bfloat16* weight_ptr,
                                   __nv_bfloat16* __restrict__ y_ptr,
                                   const float eps_v,
                                   const rmsnorm_odd_reduce_regs1024_peeled_layout layout,
                                   const unsigned int n)
{
    const int thread = threadIdx.x % 32;
    const bool live = blockIdx.x * 2u + threadIdx.x / 32 < n;  // the last block may have fewer rows
    const unsigned int row = live ? blockIdx.x * 2u + threadIdx.x / 32 : 0;
    const int width = live ? layout.width : 0;
    __nv_bfloat16* const y_row = y_ptr + row * layout.y_stride[0];
    const __nv_bfloat16* const x_row = x_ptr + row * layout.y_stride[0];
    // Groups begin at multiples of 16 bytes in y; the edge elements around them are accessed one by one.
    // A few more elements are edge elements, so that all aligned blocks around groups lie inside weight.
    const int head = min((int)(-reinterpret_cast<unsigned long long>(y_row) / 2 % 8), width);
    const int end = max(width - 2 - (width - 2 - head) % 8, head);
    const int edges = head + width - end;
    const int e = thread < head ? thread : end + thread - head;
    const unsigned int weight_misalignment = reinterpret_cast<unsigned long long>(weight_ptr + head) % 4;  // bytes
    const __nv_bfloat16* const weight_aligned = weight_ptr - weight_misalignment / 2;
    wait_for_earlier_kernels();

    Pack<__nv_bfloat16, 8, 16> x_vec[4];
    __nv_bfloat16 x_in;
    #pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = head + 8 * (v * 32 + thread);
        if (i < end) {
            x_vec[v] = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(x_row + i);
        }
    }
    if (thread < edges) {
        x_in = x_row[e];
    }

    auto mean_acc = Sum<float>::identity();
    #pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = head + 8 * (v * 32 + thread);
        if (i < end) {
            keep_packed(x_vec[v]);
            auto mean_part = Sum<float>::identity();
            #pragma unroll
            for (int j = 0; j < 8; ++j) {
                rmsnorm_odd_pass(extract(x_vec[v], j), mean_part);
            }
            mean_acc.merge(mean_part);
        }
    }
    if (thread < edges) {
        auto mean_part = Sum<float>::identity();
        rmsnorm_odd_pass(x_in, mean_part);
        mean_acc.merge(mean_part);
    }
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        mean_acc.merge(mean_acc.shuffle_xor(d));
    }
    const float mean_v = mean_acc.mean(layout.width);
    const float t = mean_v + eps_v;
    const float t2 = rsqrtf(t);

    #pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = head + 8 * (v * 32 + thread);
        if (i < end) {
            keep_packed(x_vec[v]);
            const auto weight_vec = load_aligned_blocks<__nv_bfloat16, 8, 4>(weight_aligned + i, weight_misalignment);
            Pack<__nv_bfloat16, 8, 16> y_vec;
            #pragma unroll
            for (int j = 0; j < 8; ++j) {
                rmsnorm_odd_element(extract(x_vec[v], j), extract(weight_vec, j), t2, y_vec.at[j]);
            }
            *reinterpret_cast<Pack<__nv_bfloat16, 8, 16>*>(y_row + i) = y_vec;
        }
    }
    if (thread < edges) {
        const __nv_bfloat16 weight_in = weight_ptr[e];
        rmsnorm_odd_element(x_in, weight_in, t2, y_row[e]);
    }
}

}  // namespace kgen_rmsnorm_odd
