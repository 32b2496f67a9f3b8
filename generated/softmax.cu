// Made by kgen 0.1.0 from softmax.k. Do not edit; remake it with
//     kgen compile softmax.k -o softmax.cu --dtype x=f32 --shape x=4096x1024
//
//     # Softmax over the last axis: three lines, one kernel.
//     let m = max(x, axis=-1, keepdims=true)
//     let e = exp(x - m)
//     y = e / sum(e, axis=-1, keepdims=true)
//
// Inputs:  x: float32
// Outputs: y: float32
//
// Chosen: rows: 128 threads share a row of 1024 elements and keep it in registers, 8 elements each: one pass over memory.
// Chosen: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

namespace kgen_softmax {

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

// The lower bound of a type: -inf, or the smallest integer.
template <typename T>
static __device__ __forceinline__ T lowest()
{
    const bool is_float = (T)0.5 != 0, is_signed = (T)-1 < (T)0;
    return is_float ? (T)__int_as_float(0xff800000) : is_signed ? (T)(1ull << (8 * sizeof(T) - 1)) : (T)0;
}

// a / b for 0 <= a <= 1 <= b and r = 1 / b: rounded to nearest (P. Markstein, 1990), unless below 2^-100.
static __device__ __forceinline__ float divide_quotient(float a, float b, float r)
{
    const float q = a * r;
    return fmaf(fmaf(-q, b, a), r, q);
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

// Accumulates one element into m.
static __device__ __forceinline__ void
softmax_pass1(const float x_v, Max<float>& m_acc)
{
    // let m = max(x, axis=-1, keepdims=true)
    m_acc.add(x_v);
}

// Accumulates one element into sum.
static __device__ __forceinline__ void
softmax_pass2(const float x_v, const float m_v, Sum<float>& sum_acc, float& e_kept)
{
    // let e = exp(x - m)
    const float e_v = expf(x_v - m_v);
    // y = e / sum(e, axis=-1, keepdims=true)
    sum_acc.add(e_v);
    e_kept = e_v;
}

// One element of y.
static __device__ __forceinline__ void
softmax_element(const float e_v, const float sum_v, const float sum_reciprocal, float& y_v)
{
    // y = e / sum(e, axis=-1, keepdims=true)
    y_v = divide_quotient(e_v, sum_v, sum_reciprocal);
}

// Where the rows lie; strides and steps in elements.
struct softmax_reduce_regs1024_layout {
    long long y_stride[1];  // of y and x
    int width;  // elements of a row
};

// Rows of 513 to 1024 elements, kept in registers: 128 threads a row.
// Launch: a block of 128 threads for each row.
// Limits: fewer than 2^31 rows, and every place within a row, in bytes, below 2^31.
// Alignment, in bytes: 16 for y and x.
// Vector accesses: row widths and row strides are multiples of 4 elements.
// No other operand may overlap y in memory.
extern "C" __global__ void __launch_bounds__(128)
softmax_reduce_regs1024(const float* x_ptr,
                        float* __restrict__ y_ptr,
                        const softmax_reduce_regs1024_layout layout)
{
    const int thread = threadIdx.x;
    const unsigned int row = blockIdx.x;
    float* const y_row = y_ptr + row * layout.y_stride[0];
    const float* const x_row = x_ptr + row * layout.y_stride[0];
    wait_for_earlier_kernels();

    Pack<float, 4, 16> x_vec[2];
    float e_kept[2][4];
    #pragma unroll
    for (int v = 0; v < 2; ++v) {
        const int i = 4 * (v * 128 + thread);
        if (v < 1 || i < layout.width) {
            x_vec[v] = *reinterpret_cast<const Pack<float, 4, 16>*>(x_row + i);
        }
    }

    __shared__ Max<float> m_warp_partials[4];
    auto m_acc = Max<float>::identity();
    #pragma unroll
    for (int v = 0; v < 2; ++v) {
        const int i = 4 * (v * 128 + thread);
        if (v < 1 || i < layout.width) {
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                softmax_pass1(x_vec[v].at[j], m_acc);
            }
        }
    }
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        m_acc.merge(m_acc.shuffle_xor(d));
    }
    if (threadIdx.x % 32 == 0) {
        m_warp_partials[threadIdx.x / 32] = m_acc;
    }
    __syncthreads();
    m_acc = m_warp_partials[threadIdx.x % 4];
    #pragma unroll
    for (int d = 2; d > 0; d /= 2) {
        m_acc.merge(m_acc.shuffle_xor(d));
    }
    const float m_v = m_acc.result();

    __shared__ Sum<float> sum_warp_partials[4];
    auto sum_acc = Sum<float>::identity();
    #pragma unroll
    for (int v = 0; v < 2; ++v) {
        const int i = 4 * (v * 128 + thread);
        if (v < 1 || i < layout.width) {
            auto sum_part = Sum<float>::identity();
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                softmax_pass2(x_vec[v].at[j], m_v, sum_part, e_kept[v][j]);
            }
            sum_acc.merge(sum_part);
        }
    }
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        sum_acc.merge(sum_acc.shuffle_xor(d));
    }
    if (threadIdx.x % 32 == 0) {
        sum_warp_partials[threadIdx.x / 32] = sum_acc;
    }
    __syncthreads();
    sum_acc = sum_warp_partials[threadIdx.x % 4];
    #pragma unroll
    for (int d = 2; d > 0; d /= 2) {
        sum_acc.merge(sum_acc.shuffle_xor(d));
    }
    const float sum_v = sum_acc.result();
    const float sum_reciprocal = 1.0f / sum_v;

    #pragma unroll
    for (int v = 0; v < 2; ++v) {
        const int i = 4 * (v * 128 + thread);
        if (v < 1 || i < layout.width) {
            Pack<float, 4, 16> y_vec;
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                softmax_element(e_kept[v][j], sum_v, sum_reciprocal, y_vec.at[j]);
            }
            *reinterpret_cast<Pack<float, 4, 16>*>(y_row + i) = y_vec;
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_softmax
