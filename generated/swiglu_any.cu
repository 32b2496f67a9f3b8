// Made by kgen 0.1.0 from swiglu.k. Do not edit; remake it with
//     kgen compile swiglu.k -o swiglu_any.cu --dtype gate=f16,up=f32 --layout any --name swiglu_any
//
//     # The gate of a SwiGLU feed-forward layer.
//     input  gate, up                       # optional: fixes the order of the arguments
//     param  alpha = 1.0                    # a scalar passed by value, with a default
//     def    swish(x) = x / (1 + exp(-x))   # an expression function, inlined
//     let    g = swish(gate)                # a temporary: never written to memory
//     out    = alpha * g * up               # a plain assignment is an output
//
// Inputs:  gate: float16, up: float32, alpha: float32 (by value)
// Outputs: out: float32
//
// Layout: any, up to 4 dimensions after merging.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_fp16.h>

namespace kgen_swiglu_any {

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

// N elements at an address that is a multiple of sizeof(T) only: loads the two aligned blocks around them and shifts.
template <typename T, int N>
static __device__ __forceinline__ Pack<T, N, N * sizeof(T)> load_unaligned(const T* from)
{
    constexpr int bytes = N * sizeof(T);
    const unsigned int off = reinterpret_cast<unsigned long long>(from) % bytes;
    return load_aligned_blocks<T, N, bytes>(from - off / sizeof(T), off);
}

// 1 / b within 1 ulp, without checks; 0 where that is less than 2^-126.
static __device__ __forceinline__ float reciprocal_approx(float b)
{
#if defined(__CUDA_ARCH__)
    float result;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(b));
    return result;
#else
    return 1.0f / b;
#endif
}

// a / b, rounded to nearest unless below 2^-100, where b is at least 1, or NaN.  Both are scaled, since 1 / b is no
// normal number for the largest b.
static __device__ __forceinline__ float divide_by_large(float a, float b)
{
    const float dividend = 0.25f * a, divisor = 0.25f * b, near = reciprocal_approx(divisor);
    const float q = dividend * near, rest = fmaf(-q, divisor, dividend), nearer = fmaf(rest, near, q);
    return fabsf(rest) > 0.0f ? fmaf(fmaf(-nearer, divisor, dividend), near, nearer) : q;  // not infinite
}

// One element.
static __device__ __forceinline__ void
swiglu_any_element(const __half gate_v, const float up_v, const float alpha_v, float& out_v)
{
    const float gate_f32 = __half2float(gate_v);
    // let    g = swish(gate)
    const float g_v = divide_by_large(gate_f32, 1.0f + expf(-gate_f32));
    // out    = alpha * g * up
    out_v = alpha_v * g_v * up_v;
}

// Operands in memory order, 4 elements a thread.
// Launch: ceil(n / 1024) blocks of 256 threads (a divisor of every SM's threads), for n < 2^31 elements.
// Alignment, in bytes: 16 for out and up; 8 for gate.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
swiglu_any_contiguous(const __half* gate_ptr,
                      const float* up_ptr,
                      float* __restrict__ out_ptr,
                      const float alpha_v,
                      const unsigned int n)
{
    const unsigned int i = 4u * (blockIdx.x * 256u + threadIdx.x);  // the first of this thread's 4 elements
    wait_for_earlier_kernels();
    if (i + 4 <= n) {
        const auto gate_vec = *reinterpret_cast<const Pack<__half, 4, 8>*>(gate_ptr + i);
        const auto up_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(up_ptr + i);
        Pack<float, 4, 16> out_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            swiglu_any_element(gate_vec.at[j], up_vec.at[j], alpha_v, out_vec.at[j]);
        }
        *reinterpret_cast<Pack<float, 4, 16>*>(out_ptr + i) = out_vec;
    } else {
        #pragma unroll 1
        for (unsigned int e = i; e < n; ++e) {
            swiglu_any_element(gate_ptr[e], up_ptr[e], alpha_v, out_ptr[e]);
        }
    }
    let_next_kernel_start();
}

// Operands in memory order, 4 elements a thread.
// Launch: ceil((n + 3) / 1024) blocks of 256 threads (a divisor of every SM's threads), for n < 2^31 - 1032 elements.
// Groups begin at multiples of 16 bytes in out.
// Alignment, in bytes: 4 for up.
// Of any alignment, read as aligned blocks: gate.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
swiglu_any_contiguous_unaligned(const __half* gate_ptr,
                                const float* up_ptr,
                                float* __restrict__ out_ptr,
                                const float alpha_v,
                                const int n)
{
    // Groups begin where the output is aligned; the first may begin before the first element.
    const int before = (int)(reinterpret_cast<unsigned long long>(out_ptr) / 4 % 4);
    const int i = 4 * (int)(blockIdx.x * 256u + threadIdx.x) - before;  // the first of this thread's 4 elements
    wait_for_earlier_kernels();
    if (i >= 4 && i + 8 <= n) {  // aligned blocks around the group are inside the arrays
        const auto gate_vec = load_unaligned<__half, 4>(gate_ptr + i);
        const auto up_vec = *reinterpret_cast<const Pack<float, 4, 4>*>(up_ptr + i);
        Pack<float, 4, 16> out_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            swiglu_any_element(gate_vec.at[j], up_vec.at[j], alpha_v, out_vec.at[j]);
        }
        *reinterpret_cast<Pack<float, 4, 16>*>(out_ptr + i) = out_vec;
    } else {
        #pragma unroll 1
        for (int e = i < 0 ? 0 : i; e < i + 4 && e < n; ++e) {
            swiglu_any_element(gate_ptr[e], up_ptr[e], alpha_v, out_ptr[e]);
        }
    }
    let_next_kernel_start();
}

// Operands in memory order, 4 elements a thread. Indices are 64-bit.
// Launch: ceil(n / 1024) blocks of 256 threads (a divisor of every SM's threads), for n elements.
// Alignment, in bytes: 16 for out and up; 8 for gate.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
swiglu_any_contiguous_64bit(const __half* gate_ptr,
                            const float* up_ptr,
                            float* __restrict__ out_ptr,
                            const float alpha_v,
                            const long long n)
{
    const long long i = 4 * (blockIdx.x * 256ll + threadIdx.x);  // the first of this thread's 4 elements
    wait_for_earlier_kernels();
    if (i + 4 <= n) {
        const auto gate_vec = *reinterpret_cast<const Pack<__half, 4, 8>*>(gate_ptr + i);
        const auto up_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(up_ptr + i);
        Pack<float, 4, 16> out_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            swiglu_any_element(gate_vec.at[j], up_vec.at[j], alpha_v, out_vec.at[j]);
        }
        *reinterpret_cast<Pack<float, 4, 16>*>(out_ptr + i) = out_vec;
    } else {
        #pragma unroll 1
        for (long long e = i; e < n; ++e) {
            swiglu_any_element(gate_ptr[e], up_ptr[e], alpha_v, out_ptr[e]);
        }
    }
    let_next_kernel_start();
}

// Where the operands lie: strides in elements along the only dimension.
struct swiglu_any_strided_1d_layout {
    int out_stride[1];
    int gate_stride[1];
    int up_stride[1];
};

// 4 elements a thread, 128 apart, over 1 dimension: out, gate and up at any strides.
// Launch: ceil(n / 512) blocks of 128 threads (a divisor of every SM's threads), for n < 2^31 elements.
// Limits: fewer than 2^31 elements, and every offset in bytes below 2^31.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(128)
swiglu_any_strided_1d(const __half* gate_ptr,
                      const float* up_ptr,
                      float* __restrict__ out_ptr,
                      const float alpha_v,
                      const swiglu_any_strided_1d_layout layout,
                      const unsigned int n)
{
    const unsigned int i = blockIdx.x * 512u + threadIdx.x;
    if (i >= n) {
        return;
    }
    wait_for_earlier_kernels();
    if (i + 384 < n) {  // all 4 elements of this thread: everything is read before anything is written
        int out_at_kept[4];
        float out_vec[4];
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            const unsigned int e = i + 128 * j;
            const int c0 = (int)(e);
            const int out_at = c0 * layout.out_stride[0];
            const int gate_at = c0 * layout.gate_stride[0];
            const int up_at = c0 * layout.up_stride[0];
            out_at_kept[j] = out_at;
            swiglu_any_element(gate_ptr[gate_at], up_ptr[up_at], alpha_v, out_vec[j]);
        }
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            out_ptr[out_at_kept[j]] = out_vec[j];
        }
    } else {
        #pragma unroll 1
        for (unsigned int e = i; e < n; e += 128) {
            const int c0 = (int)(e);
            const int out_at = c0 * layout.out_stride[0];
            const int gate_at = c0 * layout.gate_stride[0];
            const int up_at = c0 * layout.up_stride[0];
            swiglu_any_element(gate_ptr[gate_at], up_ptr[up_at], alpha_v, out_ptr[out_at]);
        }
    }
    let_next_kernel_start();
}

// Where the elements lie: 2 dimensions, the fastest first; strides in elements.
struct swiglu_any_strided_2d_layout {
    unsigned int extent[1];  // of all but the slowest dimension
    unsigned int magic[1];  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int shift[1];  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
    int out_stride[2];
    int gate_stride[2];
    int up_stride[2];
};

// 4 elements a thread, 128 apart, over 2 dimensions: out, gate and up at any strides.
// Launch: ceil(n / 512) blocks of 128 threads (a divisor of every SM's threads), for n < 2^31 elements.
// Limits: fewer than 2^31 elements, and every offset in bytes below 2^31.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(128)
swiglu_any_strided_2d(const __half* gate_ptr,
                      const float* up_ptr,
                      float* __restrict__ out_ptr,
                      const float alpha_v,
                      const swiglu_any_strided_2d_layout layout,
                      const unsigned int n)
{
    const unsigned int i = blockIdx.x * 512u + threadIdx.x;
    if (i >= n) {
        return;
    }
    wait_for_earlier_kernels();
    if (i + 384 < n) {  // all 4 elements of this thread: everything is read before anything is written
        int out_at_kept[4];
        float out_vec[4];
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            const unsigned int e = i + 128 * j;
            const unsigned int q0 = (__umulhi(e, layout.magic[0]) + e) >> layout.shift[0];
            const int c0 = (int)(e - q0 * layout.extent[0]);
            const int c1 = (int)q0;
            const int out_at = c0 * layout.out_stride[0] + c1 * layout.out_stride[1];
            const int gate_at = c0 * layout.gate_stride[0] + c1 * layout.gate_stride[1];
            const int up_at = c0 * layout.up_stride[0] + c1 * layout.up_stride[1];
            out_at_kept[j] = out_at;
            swiglu_any_element(gate_ptr[gate_at], up_ptr[up_at], alpha_v, out_vec[j]);
        }
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            out_ptr[out_at_kept[j]] = out_vec[j];
        }
    } else {
        #pragma unroll 1
        for (unsigned int e = i; e < n; e += 128) {
            const unsigned int q0 = (__umulhi(e, layout.magic[0]) + e) >> layout.shift[0];
            const int c0 = (int)(e - q0 * layout.extent[0]);
            const int c1 = (int)q0;
            const int out_at = c0 * layout.out_stride[0] + c1 * layout.out_stride[1];
            const int gate_at = c0 * layout.gate_stride[0] + c1 * layout.gate_stride[1];
            const int up_at = c0 * layout.up_stride[0] + c1 * layout.up_stride[1];
            swiglu_any_element(gate_ptr[gate_at], up_ptr[up_at], alpha_v, out_ptr[out_at]);
        }
    }
    let_next_kernel_start();
}

// Where the elements lie: 3 dimensions, the fastest first; strides in elements.
struct swiglu_any_strided_3d_layout {
    unsigned int extent[2];  // of all but the slowest dimension
    unsigned int magic[2];  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int shift[2];  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
    int out_stride[3];
    int gate_stride[3];
    int up_stride[3];
};

// 4 elements a thread, 128 apart, over 3 dimensions: out, gate and up at any strides.
// Launch: ceil(n / 512) blocks of 128 threads (a divisor of every SM's threads), for n < 2^31 elements.
// Limits: fewer than 2^31 elements, and every offset in bytes below 2^31.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(128)
swiglu_any_strided_3d(const __half* gate_ptr,
                      const float* up_ptr,
                      float* __restrict__ out_ptr,
                      const float alpha_v,
                      const swiglu_any_strided_3d_layout layout,
                      const unsigned int n)
{
    const unsigned int i = blockIdx.x * 512u + threadIdx.x;
    if (i >= n) {
        return;
    }
    wait_for_earlier_kernels();
    if (i + 384 < n) {  // all 4 elements of this thread: everything is read before anything is written
        int out_at_kept[4];
        float out_vec[4];
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            const unsigned int e = i + 128 * j;
            const unsigned int q0 = (__umulhi(e, layout.magic[0]) + e) >> layout.shift[0];
            const int c0 = (int)(e - q0 * layout.extent[0]);
            const unsigned int q1 = (__umulhi(q0, layout.magic[1]) + q0) >> layout.shift[1];
            const int c1 = (int)(q0 - q1 * layout.extent[1]);
            const int c2 = (int)q1;
            const int out_at = c0 * layout.out_stride[0] + c1 * layout.out_stride[1]
                             + c2 * layout.out_stride[2];
            const int gate_at = c0 * layout.gate_stride[0] + c1 * layout.gate_stride[1]
                              + c2 * layout.gate_stride[2];
            const int up_at = c0 * layout.up_stride[0] + c1 * layout.up_stride[1] + c2 * layout.up_stride[2];
            out_at_kept[j] = out_at;
            swiglu_any_element(gate_ptr[gate_at], up_ptr[up_at], alpha_v, out_vec[j]);
        }
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            out_ptr[out_at_kept[j]] = out_vec[j];
        }
    } else {
        #pragma unroll 1
        for (unsigned int e = i; e < n; e += 128) {
            const unsigned int q0 = (__umulhi(e, layout.magic[0]) + e) >> layout.shift[0];
            const int c0 = (int)(e - q0 * layout.extent[0]);
            const unsigned int q1 = (__umulhi(q0, layout.magic[1]) + q0) >> layout.shift[1];
            const int c1 = (int)(q0 - q1 * layout.extent[1]);
            const int c2 = (int)q1;
            const int out_at = c0 * layout.out_stride[0] + c1 * layout.out_stride[1]
                             + c2 * layout.out_stride[2];
            const int gate_at = c0 * layout.gate_stride[0] + c1 * layout.gate_stride[1]
                              + c2 * layout.gate_stride[2];
            const int up_at = c0 * layout.up_stride[0] + c1 * layout.up_stride[1] + c2 * layout.up_stride[2];
            swiglu_any_element(gate_ptr[gate_at], up_ptr[up_at], alpha_v, out_ptr[out_at]);
        }
    }
    let_next_kernel_start();
}

// Where the elements lie: 4 dimensions, the fastest first; strides in elements.
struct swiglu_any_strided_4d_layout {
    unsigned int extent[3];  // of all but the slowest dimension
    unsigned int magic[3];  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int shift[3];  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
    int out_stride[4];
    int gate_stride[4];
    int up_stride[4];
};

// 4 elements a thread, 128 apart, over 4 dimensions: out, gate and up at any strides.
// Launch: ceil(n / 512) blocks of 128 threads (a divisor of every SM's threads), for n < 2^31 elements.
// Limits: fewer than 2^31 elements, and every offset in bytes below 2^31.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(128)
swiglu_any_strided_4d(const __half* gate_ptr,
                      const float* up_ptr,
                      float* __restrict__ out_ptr,
                      const float alpha_v,
                      const swiglu_any_strided_4d_layout layout,
                      const unsigned int n)
{
    const unsigned int i = blockIdx.x * 512u + threadIdx.x;
    if (i >= n) {
        return;
    }
    wait_for_earlier_kernels();
    if (i + 384 < n) {  // all 4 elements of this thread: everything is read before anything is written
        int out_at_kept[4];
        float out_vec[4];
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            const unsigned int e = i + 128 * j;
            const unsigned int q0 = (__umulhi(e, layout.magic[0]) + e) >> layout.shift[0];
            const int c0 = (int)(e - q0 * layout.extent[0]);
            const unsigned int q1 = (__umulhi(q0, layout.magic[1]) + q0) >> layout.shift[1];
            const int c1 = (int)(q0 - q1 * layout.extent[1]);
            const unsigned int q2 = (__umulhi(q1, layout.magic[2]) + q1) >> layout.shift[2];
            const int c2 = (int)(q1 - q2 * layout.extent[2]);
            const int c3 = (int)q2;
            const int out_at = c0 * layout.out_stride[0] + c1 * layout.out_stride[1]
                             + c2 * layout.out_stride[2] + c3 * layout.out_stride[3];
            const int gate_at = c0 * layout.gate_stride[0] + c1 * layout.gate_stride[1]
                              + c2 * layout.gate_stride[2] + c3 * layout.gate_stride[3];
            const int up_at = c0 * layout.up_stride[0] + c1 * layout.up_stride[1] + c2 * layout.up_stride[2]
                            + c3 * layout.up_stride[3];
            out_at_kept[j] = out_at;
            swiglu_any_element(gate_ptr[gate_at], up_ptr[up_at], alpha_v, out_vec[j]);
        }
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            out_ptr[out_at_kept[j]] = out_vec[j];
        }
    } else {
        #pragma unroll 1
        for (unsigned int e = i; e < n; e += 128) {
            const unsigned int q0 = (__umulhi(e, layout.magic[0]) + e) >> layout.shift[0];
            const int c0 = (int)(e - q0 * layout.extent[0]);
            const unsigned int q1 = (__umulhi(q0, layout.magic[1]) + q0) >> layout.shift[1];
            const int c1 = (int)(q0 - q1 * layout.extent[1]);
            const unsigned int q2 = (__umulhi(q1, layout.magic[2]) + q1) >> layout.shift[2];
            const int c2 = (int)(q1 - q2 * layout.extent[2]);
            const int c3 = (int)q2;
            const int out_at = c0 * layout.out_stride[0] + c1 * layout.out_stride[1]
                             + c2 * layout.out_stride[2] + c3 * layout.out_stride[3];
            const int gate_at = c0 * layout.gate_stride[0] + c1 * layout.gate_stride[1]
                              + c2 * layout.gate_stride[2] + c3 * layout.gate_stride[3];
            const int up_at = c0 * layout.up_stride[0] + c1 * layout.up_stride[1] + c2 * layout.up_stride[2]
                            + c3 * layout.up_stride[3];
            swiglu_any_element(gate_ptr[gate_at], up_ptr[up_at], alpha_v, out_ptr[out_at]);
        }
    }
    let_next_kernel_start();
}

// Where the elements lie: 4 dimensions, the fastest first; strides in elements.
struct swiglu_any_strided_4d_64bit_layout {
    long long extent[3];  // of all but the slowest dimension
    long long magic[3];  // 2^64 * (2^shift - extent) / extent + 1, in integers
    long long shift[3];  // ceil(log2(extent)); x / extent == (__umul64hi(x, magic) + x) >> shift for x < 2^63
    long long out_stride[4];
    long long gate_stride[4];
    long long up_stride[4];
};

// 4 elements a thread, 128 apart, over 4 dimensions: out, gate and up at any strides. Indices are 64-bit.
// Launch: ceil(n / 512) blocks of 128 threads (a divisor of every SM's threads), for n elements.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(128)
swiglu_any_strided_4d_64bit(const __half* gate_ptr,
                            const float* up_ptr,
                            float* __restrict__ out_ptr,
                            const float alpha_v,
                            const swiglu_any_strided_4d_64bit_layout layout,
                            const long long n)
{
    const long long i = blockIdx.x * 512ll + threadIdx.x;
    if (i >= n) {
        return;
    }
    wait_for_earlier_kernels();
    if (i + 384 < n) {  // all 4 elements of this thread: everything is read before anything is written
        long long out_at_kept[4];
        float out_vec[4];
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            const long long e = i + 128 * j;
            const unsigned long long q0 = (__umul64hi(e, layout.magic[0]) + e) >> layout.shift[0];
            const long long c0 = (long long)(e - q0 * layout.extent[0]);
            const unsigned long long q1 = (__umul64hi(q0, layout.magic[1]) + q0) >> layout.shift[1];
            const long long c1 = (long long)(q0 - q1 * layout.extent[1]);
            const unsigned long long q2 = (__umul64hi(q1, layout.magic[2]) + q1) >> layout.shift[2];
            const long long c2 = (long long)(q1 - q2 * layout.extent[2]);
            const long long c3 = (long long)q2;
            const long long out_at = c0 * layout.out_stride[0] + c1 * layout.out_stride[1]
                                   + c2 * layout.out_stride[2] + c3 * layout.out_stride[3];
            const long long gate_at = c0 * layout.gate_stride[0] + c1 * layout.gate_stride[1]
                                    + c2 * layout.gate_stride[2] + c3 * layout.gate_stride[3];
            const long long up_at = c0 * layout.up_stride[0] + c1 * layout.up_stride[1]
                                  + c2 * layout.up_stride[2] + c3 * layout.up_stride[3];
            out_at_kept[j] = out_at;
            swiglu_any_element(gate_ptr[gate_at], up_ptr[up_at], alpha_v, out_vec[j]);
        }
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            out_ptr[out_at_kept[j]] = out_vec[j];
        }
    } else {
        #pragma unroll 1
        for (long long e = i; e < n; e += 128) {
            const unsigned long long q0 = (__umul64hi(e, layout.magic[0]) + e) >> layout.shift[0];
            const long long c0 = (long long)(e - q0 * layout.extent[0]);
            const unsigned long long q1 = (__umul64hi(q0, layout.magic[1]) + q0) >> layout.shift[1];
            const long long c1 = (long long)(q0 - q1 * layout.extent[1]);
            const unsigned long long q2 = (__umul64hi(q1, layout.magic[2]) + q1) >> layout.shift[2];
            const long long c2 = (long long)(q1 - q2 * layout.extent[2]);
            const long long c3 = (long long)q2;
            const long long out_at = c0 * layout.out_stride[0] + c1 * layout.out_stride[1]
                                   + c2 * layout.out_stride[2] + c3 * layout.out_stride[3];
            const long long gate_at = c0 * layout.gate_stride[0] + c1 * layout.gate_stride[1]
                                    + c2 * layout.gate_stride[2] + c3 * layout.gate_stride[3];
            const long long up_at = c0 * layout.up_stride[0] + c1 * layout.up_stride[1]
                                  + c2 * layout.up_stride[2] + c3 * layout.up_stride[3];
            swiglu_any_element(gate_ptr[gate_at], up_ptr[up_at], alpha_v, out_ptr[out_at]);
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_swiglu_any
