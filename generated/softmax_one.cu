// Made by kgen 0.1.0 from softmax.k. Do not edit; remake it with
//     kgen compile softmax.k -o softmax_one.cu --dtype x=f32 --shape x=1x100000000 --name softmax_one
//
//     # Softmax over the last axis: three lines, one kernel.
//     let m = max(x, axis=-1, keepdims=true)
//     let e = exp(x - m)
//     y = e / sum(e, axis=-1, keepdims=true)
//
// Inputs:  x: float32
// Outputs: y: float32
//
// Chosen: rows: 1024 threads share a row and walk it once.
// Chosen: split: too few rows to keep a device busy, so several blocks share each; the last one merges their results.
// Chosen: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Chosen: rows: 1024 threads share a row and walk it once.
// Chosen: split: too few rows to keep a device busy, so several blocks share each; the last one merges their results.
// Chosen: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Chosen: contiguous: 4 elements a thread, so that `y` moves in 16-byte accesses.
// Chosen: 32-bit indices: every element number is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

// N consecutive elements that move as one access of Bytes bytes at a time.
template <typename T, int N, int Bytes>
struct alignas(Bytes) Pack {
    T at[N];
};

// The greater of a and b; a NaN wins, and -0.0 is below +0.0.
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

// A sum that also keeps what rounding took away from it.
template <typename T>
struct Sum {
    T sum, rest;
};

template <typename T>
static __device__ __forceinline__ void add(Sum<T>& s, T x)
{
    const T sum = s.sum + x, gained = sum - s.sum;
    s.rest += (s.sum - (sum - gained)) + (x - gained);
    s.sum = sum;
}

template <typename T>
static __device__ __forceinline__ T total(const Sum<T>& s)
{
    return isfinite(s.sum) ? s.sum + s.rest : s.sum;
}

// One element.
static __device__ __forceinline__ void
softmax_one_y_element(const float x_v, const float m_buffer_v, const float sum_buffer_v, float& y_v)
{
    // let e = exp(x - m)
    const float e_v = expf(x_v - m_buffer_v);
    // y = e / sum(e, axis=-1, keepdims=true)
    y_v = e_v / sum_buffer_v;
}

// Takes one element into m.
static __device__ __forceinline__ void
softmax_one_m_buffer_pass(const float x_v, float& m_acc)
{
    // let m = max(x, axis=-1, keepdims=true)
    m_acc = nan_max(m_acc, x_v);
}

// Takes one element into sum.
static __device__ __forceinline__ void
softmax_one_sum_buffer_pass(const float x_v, const float m_buffer_v, float& sum_acc)
{
    // y = e / sum(e, axis=-1, keepdims=true)
    sum_acc += expf(x_v - m_buffer_v);
}

// Where the rows lie; strides and steps in elements.
struct softmax_one_m_buffer_rows_long_split_layout {
    int width;  // elements of a row
    int span;  // elements of a row that a block takes
};

// Rows of any length, each shared by several blocks: 1024 threads a row and block.
// Launch: (rows, ceil(width / span)) blocks of 1024 threads; `arrived` is 0 for each row.
// Limits: fewer than 2^31 rows, and every place within a row, in bytes, below 2^31.
// Alignment, in bytes: 16 for x.
// Rows are a multiple of 4 elements.
// No other operand may overlap m_buffer in memory.
extern "C" __global__ void __launch_bounds__(1024)
softmax_one_m_buffer_rows_long_split(const float* __restrict__ x_ptr,
                                     float* __restrict__ m_buffer_ptr,
                                     float* m_of_blocks,
                                     unsigned int* arrived,
                                     const softmax_one_m_buffer_rows_long_split_layout layout)
{
    const int lane = threadIdx.x;
    const unsigned int row = blockIdx.x;
    const int first = blockIdx.y * layout.span;  // of what this block takes of the row
    const int last = first + min(layout.span, layout.width - first);

    __shared__ float m_of_warps[32];
    float m_acc = __int_as_float(0xff800000 /* -inf */);
    #pragma unroll 4
    for (int i = first + 4 * lane; i < last; i += 4096) {
        const auto x_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(x_ptr + i);
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            softmax_one_m_buffer_pass(x_vec.at[j], m_acc);
        }
    }
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        m_acc = nan_max(m_acc, __shfl_xor_sync(0xffffffffu, m_acc, d));
    }
    if (threadIdx.x % 32 == 0) {
        m_of_warps[threadIdx.x / 32] = m_acc;
    }
    __syncthreads();
    m_acc = m_of_warps[threadIdx.x % 32];
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        m_acc = nan_max(m_acc, __shfl_xor_sync(0xffffffffu, m_acc, d));
    }

    // The last of the blocks that share this row merges what all have left, always in the same order.
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        m_of_blocks[row * gridDim.y + blockIdx.y] = m_acc;
        __threadfence();
        is_last = atomicInc(&arrived[row], gridDim.y - 1) == gridDim.y - 1;
    }
    __syncthreads();
    if (!is_last) {
        return;
    }
    __threadfence();
    m_acc = __int_as_float(0xff800000 /* -inf */);
    for (unsigned int b = lane; b < gridDim.y; b += 1024) {
        m_acc = nan_max(m_acc, m_of_blocks[row * gridDim.y + b]);
    }
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        m_acc = nan_max(m_acc, __shfl_xor_sync(0xffffffffu, m_acc, d));
    }
    if (threadIdx.x % 32 == 0) {
        m_of_warps[threadIdx.x / 32] = m_acc;
    }
    __syncthreads();
    m_acc = m_of_warps[threadIdx.x % 32];
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        m_acc = nan_max(m_acc, __shfl_xor_sync(0xffffffffu, m_acc, d));
    }
    const float m_v = m_acc;

    if (lane == 0) {
        m_buffer_ptr[0] = m_v;
    }
}

// Where the rows lie; strides and steps in elements.
struct softmax_one_sum_buffer_rows_long_split_layout {
    int width;  // elements of a row
    int span;  // elements of a row that a block takes
};

// Rows of any length, each shared by several blocks: 1024 threads a row and block.
// Launch: (rows, ceil(width / span)) blocks of 1024 threads; `arrived` is 0 for each row.
// Limits: fewer than 2^31 rows, and every place within a row, in bytes, below 2^31.
// Alignment, in bytes: 16 for x.
// Rows are a multiple of 4 elements.
// No other operand may overlap sum_buffer in memory.
extern "C" __global__ void __launch_bounds__(1024)
softmax_one_sum_buffer_rows_long_split(const float* __restrict__ x_ptr,
                                       const float* __restrict__ m_buffer_ptr,
                                       float* __restrict__ sum_buffer_ptr,
                                       float* sum_of_blocks,
                                       unsigned int* arrived,
                                       const softmax_one_sum_buffer_rows_long_split_layout layout)
{
    const int lane = threadIdx.x;
    const unsigned int row = blockIdx.x;
    const int first = blockIdx.y * layout.span;  // of what this block takes of the row
    const int last = first + min(layout.span, layout.width - first);
    const float m_buffer_v = m_buffer_ptr[0];

    __shared__ float sum_of_warps[32];
    Sum<float> sum_sum = {};
    #pragma unroll 4
    for (int i = first + 4 * lane; i < last; i += 4096) {
        const auto x_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(x_ptr + i);
        float sum_part = 0.0f;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            softmax_one_sum_buffer_pass(x_vec.at[j], m_buffer_v, sum_part);
        }
        add(sum_sum, sum_part);
    }
    float sum_acc = total(sum_sum);
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        sum_acc += __shfl_xor_sync(0xffffffffu, sum_acc, d);
    }
    if (threadIdx.x % 32 == 0) {
        sum_of_warps[threadIdx.x / 32] = sum_acc;
    }
    __syncthreads();
    sum_acc = sum_of_warps[threadIdx.x % 32];
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        sum_acc += __shfl_xor_sync(0xffffffffu, sum_acc, d);
    }

    // The last of the blocks that share this row merges what all have left, always in the same order.
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        sum_of_blocks[row * gridDim.y + blockIdx.y] = sum_acc;
        __threadfence();
        is_last = atomicInc(&arrived[row], gridDim.y - 1) == gridDim.y - 1;
    }
    __syncthreads();
    if (!is_last) {
        return;
    }
    __threadfence();
    sum_acc = 0.0f;
    for (unsigned int b = lane; b < gridDim.y; b += 1024) {
        sum_acc += sum_of_blocks[row * gridDim.y + b];
    }
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        sum_acc += __shfl_xor_sync(0xffffffffu, sum_acc, d);
    }
    if (threadIdx.x % 32 == 0) {
        sum_of_warps[threadIdx.x / 32] = sum_acc;
    }
    __syncthreads();
    sum_acc = sum_of_warps[threadIdx.x % 32];
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        sum_acc += __shfl_xor_sync(0xffffffffu, sum_acc, d);
    }
    const float sum_v = sum_acc;

    if (lane == 0) {
        sum_buffer_ptr[0] = sum_v;
    }
}

// Operands in memory order, 4 elements a thread.
// Launch: ceil(n / 1024) blocks of 256 threads (a divisor of what every SM holds), for n < 2^31 elements.
// Alignment, in bytes: 16 for y and x.
// A single element, the same for all: m_buffer and sum_buffer.
// No other operand may overlap y in memory.
extern "C" __global__ void __launch_bounds__(256)
softmax_one_y_contiguous(const float* __restrict__ x_ptr,
                         float* __restrict__ y_ptr,
                         const float* __restrict__ m_buffer_ptr,
                         const float* __restrict__ sum_buffer_ptr,
                         const unsigned int n)
{
    const unsigned int i = 4u * (blockIdx.x * 256u + threadIdx.x);  // the first of this thread's 4 elements
    if (i + 4 <= n) {
        const auto x_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(x_ptr + i);
        const float m_buffer_v = m_buffer_ptr[0];
        const float sum_buffer_v = sum_buffer_ptr[0];
        Pack<float, 4, 16> y_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            softmax_one_y_element(x_vec.at[j], m_buffer_v, sum_buffer_v, y_vec.at[j]);
        }
        *reinterpret_cast<Pack<float, 4, 16>*>(y_ptr + i) = y_vec;
    } else {
        const float m_buffer_v = m_buffer_ptr[0];
        const float sum_buffer_v = sum_buffer_ptr[0];
        for (unsigned int e = i; e < n; ++e) {
            softmax_one_y_element(x_ptr[e], m_buffer_v, sum_buffer_v, y_ptr[e]);
        }
    }
}
