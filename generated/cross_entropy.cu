// Made by kgen 0.1.0 from cross_entropy.k. Do not edit; remake it with
//     kgen compile cross_entropy.k -o cross_entropy.cu --dtype logits=f32,label=i64 --shape logits=4096x32000,label=4096
//
//     # Log-softmax, and the cross-entropy of each row with its label.
//     input logits, label
//     let total = logsumexp(logits, axis=-1, keepdims=true)
//     log_p = logits - total
//     loss = sum(index(-1) == expand(label, axis=1) ? total - logits : 0, axis=-1)
//
// Inputs:  logits: float32, label: int64
// Outputs: log_p: float32, loss: float32
//
// Chosen: rows: 512 threads share a row, too long for their registers: read again for each round of reductions.
// Chosen: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

namespace kgen_cross_entropy {

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

// A sum with the accumulated rounding errors (Kahan-Babuska), for a thread that adds up a long row.
template <typename T>
struct CompensatedSum {
    T sum, rest;

    static __device__ __forceinline__ CompensatedSum identity() { return {0, 0}; }

    __device__ __forceinline__ void merge(const Sum<T>& part)
    {
        const T total = sum + part.sum, gained = total - sum;
        rest += (sum - (total - gained)) + (part.sum - gained);
        sum = total;
    }

    __device__ __forceinline__ Sum<T> total() const { return {isfinite(sum) ? sum + rest : sum}; }
};

// What goes into total, of one element.
static __device__ __forceinline__ void
cross_entropy_pass1(const float logits_v, float& total_acc)
{
    // let total = logsumexp(logits, axis=-1, keepdims=true)
    total_acc = logits_v;
}

// Accumulates one element into sum.
static __device__ __forceinline__ void
cross_entropy_pass2(const float logits_v,
                    const float total_v,
                    const long long label_v,
                    const long long index0,
                    Sum<float>& sum_acc)
{
    // loss = sum(index(-1) == expand(label, axis=1) ? total - logits : 0, axis=-1)
    sum_acc.add(index0 == label_v ? total_v - logits_v : 0.0f);
}

// One element of log_p.
static __device__ __forceinline__ void
cross_entropy_element(const float logits_v, const float total_v, float& log_p_v)
{
    // log_p = logits - total
    log_p_v = logits_v - total_v;
}

// Where the rows lie; strides and steps in elements.
struct cross_entropy_reduce_long_layout {
    long long log_p_stride[1];  // of log_p and logits
    long long loss_stride[1];  // of loss and label
    int width;  // elements of a row
};

// Rows of any length, read again for each round of reductions: 512 threads a row.
// Launch: a block of 512 threads for each row.
// Limits: fewer than 2^31 rows, and every place within a row, in bytes, below 2^31 - 2^16.
// Alignment, in bytes: 16 for log_p and logits.
// Vector accesses: row widths and row strides are multiples of 4 elements.
// No other operand may overlap log_p and loss in memory.
extern "C" __global__ void __launch_bounds__(512)
cross_entropy_reduce_long(const float* logits_ptr,
                          const long long* label_ptr,
                          float* __restrict__ log_p_ptr,
                          float* __restrict__ loss_ptr,
                          const cross_entropy_reduce_long_layout layout)
{
    const int thread = threadIdx.x;
    const unsigned int row = blockIdx.x;
    float* const log_p_row = log_p_ptr + row * layout.log_p_stride[0];
    const float* const logits_row = logits_ptr + row * layout.log_p_stride[0];
    wait_for_earlier_kernels();
    const long long label_v = label_ptr[row * layout.loss_stride[0]];

    __shared__ LogSum<float> total_warp_partials[16];
    auto total_acc = LogSum<float>::identity();
    #pragma unroll 4
    for (int i = 4 * thread; i < layout.width; i += 2048) {
        const auto logits_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(logits_row + i);
        float total_part[4];
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            cross_entropy_pass1(logits_vec.at[j], total_part[j]);
        }
        total_acc.add(total_part);
    }
    total_acc.merge_lanes<32>();
    if (threadIdx.x % 32 == 0) {
        total_warp_partials[threadIdx.x / 32] = total_acc;
    }
    __syncthreads();
    total_acc = total_warp_partials[threadIdx.x % 16];
    total_acc.merge_lanes<16>();
    const float total_v = total_acc.result();

    __shared__ Sum<float> sum_warp_partials[16];
    auto sum_sum = CompensatedSum<float>::identity();
    #pragma unroll 4
    for (int i = 4 * thread; i < layout.width; i += 2048) {
        const auto logits_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(logits_row + i);
        auto sum_part = Sum<float>::identity();
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            cross_entropy_pass2(logits_vec.at[j], total_v, label_v, i + j, sum_part);
        }
        sum_sum.merge(sum_part);
    }
    auto sum_acc = sum_sum.total();
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        sum_acc.merge(sum_acc.shuffle_xor(d));
    }
    if (threadIdx.x % 32 == 0) {
        sum_warp_partials[threadIdx.x / 32] = sum_acc;
    }
    __syncthreads();
    sum_acc = sum_warp_partials[threadIdx.x % 16];
    #pragma unroll
    for (int d = 8; d > 0; d /= 2) {
        sum_acc.merge(sum_acc.shuffle_xor(d));
    }
    const float sum_v = sum_acc.result();

    #pragma unroll 4
    for (int i = 4 * thread; i < layout.width; i += 2048) {
        const auto logits_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(logits_row + i);
        Pack<float, 4, 16> log_p_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            cross_entropy_element(logits_vec.at[j], total_v, log_p_vec.at[j]);
        }
        *reinterpret_cast<Pack<float, 4, 16>*>(log_p_row + i) = log_p_vec;
    }

    if (thread == 0) {
        // loss = sum(index(-1) == expand(label, axis=1) ? total - logits : 0, axis=-1)
        loss_ptr[row * layout.loss_stride[0]] = sum_v;
    }
    let_next_kernel_start();
}

}  // namespace kgen_cross_entropy
