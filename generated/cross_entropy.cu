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

// N consecutive elements that move as one access of Bytes bytes at a time.
template <typename T, int N, int Bytes>
struct alignas(Bytes) Pack {
    T at[N];
};

// The greatest of some elements, and the sum of exp(element - greatest).
template <typename T>
struct LogSum {
    T peak, sum;
};

// What exponents are taken relative to: the greatest element where it is finite.
template <typename T>
static __device__ __forceinline__ T origin(const LogSum<T>& a)
{
    return isinf(a.peak) ? 0 : a.peak;
}

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

// exp(x) as a term of a sum whose greatest is 1: what it is off by grows with -x, and matters less.
static __device__ __forceinline__ float term(float x)
{
#if defined(__CUDA_ARCH__)
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x * 1.442695041f));
    return result;
#else
    return expf(x);
#endif
}

// Takes the elements of a group, relative to the greatest so far.
template <int N>
static __device__ __forceinline__ void add_group(LogSum<float>& all, const float (&x)[N])
{
    const float before = all.peak;
    #pragma unroll
    for (int j = 0; j < N; ++j) {
        all.peak = nan_max(all.peak, x[j]);
    }
    float sum = 0;
    #pragma unroll
    for (int j = 0; j < N; ++j) {
        sum += term(x[j] - origin(all));
    }
    all.sum = all.sum * expf(before - origin(all)) + sum;
}

// What neighbouring lanes hold, as one: an exponential for each, not for each step.  The product is not contracted, so
// that all lanes get the same bits.
template <int Lanes>
static __device__ __forceinline__ void merge_lanes(LogSum<float>& a)
{
    const float before = a.peak;
    #pragma unroll
    for (int d = Lanes / 2; d > 0; d /= 2) {
        a.peak = nan_max(a.peak, __shfl_xor_sync(0xffffffffu, a.peak, d));
    }
    a.sum = __fmul_rn(a.sum, expf(before - origin(a)));
    #pragma unroll
    for (int d = Lanes / 2; d > 0; d /= 2) {
        a.sum += __shfl_xor_sync(0xffffffffu, a.sum, d);
    }
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

// What goes into total, of one element.
static __device__ __forceinline__ void
cross_entropy_pass1(const float logits_v, float& total_acc)
{
    // let total = logsumexp(logits, axis=-1, keepdims=true)
    total_acc = logits_v;
}

// Takes one element into sum.
static __device__ __forceinline__ void
cross_entropy_pass2(const float logits_v,
                    const float total_v,
                    const long long label_v,
                    const long long index0,
                    float& sum_acc)
{
    // loss = sum(index(-1) == expand(label, axis=1) ? total - logits : 0, axis=-1)
    sum_acc += index0 == label_v ? total_v - logits_v : 0.0f;
}

// One element of log_p.
static __device__ __forceinline__ void
cross_entropy_element(const float logits_v, const float total_v, float& log_p_v)
{
    // log_p = logits - total
    log_p_v = logits_v - total_v;
}

// Where the rows lie; strides and steps in elements.
struct cross_entropy_rows_long_layout {
    long long log_p_stride[1];  // of log_p and logits
    long long loss_stride[1];  // of loss and label
    int width;  // elements of a row
};

// Rows of any length, read again for each round of reductions: 512 threads a row.
// Launch: a block of 512 threads for each row.
// Limits: fewer than 2^31 rows, and every place within a row, in bytes, below 2^31 - 2^16.
// Alignment, in bytes: 16 for log_p and logits.
// What moves by groups has rows, and strides between them, of multiples of 4 elements.
// No other operand may overlap log_p and loss in memory.
extern "C" __global__ void __launch_bounds__(512)
cross_entropy_rows_long(const float* __restrict__ logits_ptr,
                        const long long* __restrict__ label_ptr,
                        float* __restrict__ log_p_ptr,
                        float* __restrict__ loss_ptr,
                        const cross_entropy_rows_long_layout layout)
{
    const int lane = threadIdx.x;
    const unsigned int row = blockIdx.x;
    float* const log_p_row = log_p_ptr + row * layout.log_p_stride[0];
    const float* const logits_row = logits_ptr + row * layout.log_p_stride[0];
    const long long label_v = label_ptr[row * layout.loss_stride[0]];

    __shared__ LogSum<float> total_of_warps[16];
    LogSum<float> total_acc = {__int_as_float(0xff800000 /* -inf */), 0.0f};
    #pragma unroll 4
    for (int i = 4 * lane; i < layout.width; i += 2048) {
        const auto logits_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(logits_row + i);
        float total_part[4];
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            cross_entropy_pass1(logits_vec.at[j], total_part[j]);
        }
        add_group(total_acc, total_part);
    }
    merge_lanes<32>(total_acc);
    if (threadIdx.x % 32 == 0) {
        total_of_warps[threadIdx.x / 32] = total_acc;
    }
    __syncthreads();
    total_acc = total_of_warps[threadIdx.x % 16];
    merge_lanes<16>(total_acc);
    const float total_v = logf(total_acc.sum) + total_acc.peak;

    __shared__ float sum_of_warps[16];
    Sum<float> sum_sum = {};
    #pragma unroll 4
    for (int i = 4 * lane; i < layout.width; i += 2048) {
        const auto logits_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(logits_row + i);
        float sum_part = 0.0f;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            cross_entropy_pass2(logits_vec.at[j], total_v, label_v, i + j, sum_part);
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
    sum_acc = sum_of_warps[threadIdx.x % 16];
    #pragma unroll
    for (int d = 8; d > 0; d /= 2) {
        sum_acc += __shfl_xor_sync(0xffffffffu, sum_acc, d);
    }
    const float sum_v = sum_acc;

    #pragma unroll 4
    for (int i = 4 * lane; i < layout.width; i += 2048) {
        const auto logits_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(logits_row + i);
        Pack<float, 4, 16> log_p_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            cross_entropy_element(logits_vec.at[j], total_v, log_p_vec.at[j]);
        }
        *reinterpret_cast<Pack<float, 4, 16>*>(log_p_row + i) = log_p_vec;
    }

    if (lane == 0) {
        // loss = sum(index(-1) == expand(label, axis=1) ? total - logits : 0, axis=-1)
        loss_ptr[row * layout.loss_stride[0]] = sum_v;
    }
}
