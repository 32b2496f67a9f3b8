// Made by kgen 0.1.0 from softmax.k. Do not edit; remake it with
//     kgen compile softmax.k -o softmax_one_row.cu --dtype x=f32 --shape x=1x100000000 --name softmax_one_row
//
//     # Softmax over the last axis: three lines, one kernel.
//     let m = max(x, axis=-1, keepdims=true)
//     let e = exp(x - m)
//     y = e / sum(e, axis=-1, keepdims=true)
//
// Inputs:  x: float32
// Outputs: y: float32
//
// Chosen for kernel 1: rows: 256 threads share a row and walk it once.
// Chosen for kernel 1: split: too few rows to keep a device busy, so several blocks share each; the last one merges their results.
// Chosen for kernel 1: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Chosen for kernel 1: online: sums of exponentials are relative to the greatest so far, so that no round waits for the maximum.
// Chosen for kernel 1: order: writes `m_buffer` and `exp_sum_buffer` for kernel 2: one kernel for the whole chain is slower: rows are few, or not consecutive in memory.
// Chosen for kernel 2: contiguous: 4 elements a thread, so that `y` moves in 16-byte accesses.
// Chosen for kernel 2: 32-bit indices: every element number is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).
// Kernels, launched in this order: softmax_one_row_m_buffer_reduce_long_split, softmax_one_row_y_contiguous.
// Buffers between them, which the caller allocates: m_buffer: float32, exp_sum_buffer: float32.

namespace kgen_softmax_one_row {

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

// exp(x) as a term of a sum whose largest term is 1: the relative error grows with -x, but the term shrinks.
static __device__ __forceinline__ float exp_approx(float x)
{
#if defined(__CUDA_ARCH__)
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x * 1.442695041f));
    return result;
#else
    return expf(x);
#endif
}

// The lower bound of a type: -inf, or the smallest integer.
template <typename T>
static __device__ __forceinline__ T lowest()
{
    const bool is_float = (T)0.5 != 0, is_signed = (T)-1 < (T)0;
    return is_float ? (T)__int_as_float(0xff800000) : is_signed ? (T)(1ull << (8 * sizeof(T) - 1)) : (T)0;
}

// The maximum of some elements (peak), and the sum of exp(element - peak).
template <typename T>
struct LogSum {
    T peak, sum;

    static __device__ __forceinline__ LogSum identity() { return {lowest<T>(), 0}; }

    // What exponents are relative to: the peak, or 0 where it is infinite.
    __device__ __forceinline__ T origin() const { return isinf(peak) ? 0 : peak; }

    // Adds a group of elements, relative to the maximum so far.
    template <int N>
    __device__ __forceinline__ void add(const T (&x)[N])
    {
        const T before = peak;
        #pragma unroll
        for (int j = 0; j < N; ++j) {
            peak = nan_max(peak, x[j]);
        }
        T group = 0;
        #pragma unroll
        for (int j = 0; j < N; ++j) {
            group += exp_approx(x[j] - origin());
        }
        sum = sum * exp(before - origin()) + group;
    }

    // Merges two sets of elements.  Without fma, so that either order gives the same bits.
    __device__ __forceinline__ void merge(const LogSum& other)
    {
        const T before = peak;
        peak = nan_max(peak, other.peak);
        const T mine = sum * exp(before - origin()), theirs = other.sum * exp(other.peak - origin());
        sum = sizeof(T) == 4 ? (T)__fadd_rn((float)mine, (float)theirs) : (T)__dadd_rn(mine, theirs);
    }

    // Merges the states of neighbouring lanes, with one exponential a lane instead of one a step.  The product is not
    // fused with a sum, so that all lanes get the same bits.
    template <int Lanes>
    __device__ __forceinline__ void merge_lanes()
    {
        const T before = peak;
        #pragma unroll
        for (int d = Lanes / 2; d > 0; d /= 2) {
            peak = nan_max(peak, __shfl_xor_sync(0xffffffffu, peak, d));
        }
        const T scale = exp(before - origin());
        sum = sizeof(T) == 4 ? (T)__fmul_rn((float)sum, (float)scale) : (T)__dmul_rn(sum, scale);
        #pragma unroll
        for (int d = Lanes / 2; d > 0; d /= 2) {
            sum += __shfl_xor_sync(0xffffffffu, sum, d);
        }
    }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ LogSum shuffle_xor(int d) const
    {
        return {__shfl_xor_sync(0xffffffffu, peak, d), __shfl_xor_sync(0xffffffffu, sum, d)};
    }

    __device__ __forceinline__ T result() const { return log(sum) + peak; }

    // The sum of exp(element - peak); NaN where the peak is infinite.
    __device__ __forceinline__ T exp_sum() const { return sum + (peak - peak); }
};

// One element.
static __device__ __forceinline__ void
softmax_one_row_y_element(const float x_v,
                          const float m_buffer_v,
                          const float exp_sum_buffer_v,
                          float& y_v)
{
    // let e = exp(x - m)
    const float e_v = expf(x_v - m_buffer_v);
    // y = e / sum(e, axis=-1, keepdims=true)
    y_v = e_v / exp_sum_buffer_v;
}

// What goes into exp_sum, of one element.
static __device__ __forceinline__ void
softmax_one_row_m_buffer_pass(const float x_v, float& exp_sum_acc)
{
    // y = e / sum(e, axis=-1, keepdims=true)
    exp_sum_acc = x_v;
}

// Where the rows lie; strides and steps in elements.
struct softmax_one_row_m_buffer_reduce_long_split_layout {
    int width;  // elements of a row
    int span;  // elements of a row that a block takes
};

// Rows of any length, each shared by several blocks: 256 threads a row and block.
// Launch: (rows, ceil(width / span)) blocks of 256 threads; `span`: any multiple of 4.
// Memory: rows * gridDim.y of each `*_block_partials`; `arrived` counts for each row, 0 before and after.
// Limits: fewer than 2^31 rows, and every place within a row, in bytes, below 2^31 - 2^16.
// Alignment, in bytes: 16 for x.
// Vector accesses: row widths and row strides are multiples of 4 elements.
// No other operand may overlap m_buffer and exp_sum_buffer in memory.
extern "C" __global__ void __launch_bounds__(256)
softmax_one_row_m_buffer_reduce_long_split(const float* x_ptr,
                                           float* __restrict__ m_buffer_ptr,
                                           float* __restrict__ exp_sum_buffer_ptr,
                                           LogSum<float>* exp_sum_block_partials,
                                           unsigned int* arrived,
                                           const softmax_one_row_m_buffer_reduce_long_split_layout layout)
{
    const int thread = threadIdx.x;
    const unsigned int row = blockIdx.x;
    const int first = blockIdx.y * layout.span;  // where this block's span begins
    const int last = first + min(layout.span, layout.width - first);
    wait_for_earlier_kernels();

    __shared__ LogSum<float> exp_sum_warp_partials[8];
    auto exp_sum_acc = LogSum<float>::identity();
    #pragma unroll 4
    for (int i = first + 4 * thread; i < last; i += 1024) {
        const auto x_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(x_ptr + i);
        float exp_sum_part[4];
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            softmax_one_row_m_buffer_pass(x_vec.at[j], exp_sum_part[j]);
        }
        exp_sum_acc.add(exp_sum_part);
    }
    exp_sum_acc.merge_lanes<32>();
    if (threadIdx.x % 32 == 0) {
        exp_sum_warp_partials[threadIdx.x / 32] = exp_sum_acc;
    }
    __syncthreads();
    exp_sum_acc = exp_sum_warp_partials[threadIdx.x % 8];
    exp_sum_acc.merge_lanes<8>();

    // The last block of this row to arrive merges the partials of all, always in the same order.
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        exp_sum_block_partials[row * gridDim.y + blockIdx.y] = exp_sum_acc;
        __threadfence();  // release: this block's partials are visible before its arrival
        is_last = atomicInc(&arrived[row], gridDim.y - 1) == gridDim.y - 1;
        __threadfence();  // acquire: the last block sees all partials
    }
    __syncthreads();
    if (!is_last) {
        return;
    }
    exp_sum_acc = LogSum<float>::identity();
    for (unsigned int b = thread; b < gridDim.y; b += 256) {
        exp_sum_acc.merge(exp_sum_block_partials[row * gridDim.y + b]);
    }
    exp_sum_acc.merge_lanes<32>();
    if (threadIdx.x % 32 == 0) {
        exp_sum_warp_partials[threadIdx.x / 32] = exp_sum_acc;
    }
    __syncthreads();
    exp_sum_acc = exp_sum_warp_partials[threadIdx.x % 8];
    exp_sum_acc.merge_lanes<8>();
    const float m_v = exp_sum_acc.peak;
    const float exp_sum_v = exp_sum_acc.exp_sum();

    if (thread == 0) {
        m_buffer_ptr[0] = m_v;
        exp_sum_buffer_ptr[0] = exp_sum_v;
    }
    let_next_kernel_start();
}

// Operands in memory order, 4 elements a thread.
// Launch: ceil(n / 1024) blocks of 256 threads (a divisor of every SM's threads), for n < 2^31 elements.
// Alignment, in bytes: 16 for y and x.
// A single element, the same for all: m_buffer and exp_sum_buffer.
// No other operand may overlap y in memory.
extern "C" __global__ void __launch_bounds__(256)
softmax_one_row_y_contiguous(const float* x_ptr,
                             float* __restrict__ y_ptr,
                             const float* m_buffer_ptr,
                             const float* exp_sum_buffer_ptr,
                             const unsigned int n)
{
    const unsigned int i = 4u * (blockIdx.x * 256u + threadIdx.x);  // the first of this thread's 4 elements
    wait_for_earlier_kernels();
    if (i + 4 <= n) {
        const auto x_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(x_ptr + i);
        const float m_buffer_v = m_buffer_ptr[0];
        const float exp_sum_buffer_v = exp_sum_buffer_ptr[0];
        Pack<float, 4, 16> y_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            softmax_one_row_y_element(x_vec.at[j], m_buffer_v, exp_sum_buffer_v, y_vec.at[j]);
        }
        *reinterpret_cast<Pack<float, 4, 16>*>(y_ptr + i) = y_vec;
    } else {
        const float m_buffer_v = m_buffer_ptr[0];
        const float exp_sum_buffer_v = exp_sum_buffer_ptr[0];
        #pragma unroll 1
        for (unsigned int e = i; e < n; ++e) {
            softmax_one_row_y_element(x_ptr[e], m_buffer_v, exp_sum_buffer_v, y_ptr[e]);
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_softmax_one_row
