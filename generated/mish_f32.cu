// Made by kgen 0.1.0 from mish.k. Do not edit; remake it with
//     kgen compile mish.k -o mish_f32.cu --dtype x=f32 --layout contiguous --name mish_f32
//
//     # Mish and its derivative, which share their expensive parts.
//     let t = tanh(softplus(x))
//     y     = x * t
//     dy    = t + x * sigmoid(x) * (1 - t * t)
//
// Inputs:  x: float32
// Outputs: y: float32, dy: float32
//
// Layout: contiguous.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

namespace kgen_mish_f32 {

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

// a / b, rounded to nearest unless below 2^-100, where b is 1 + x for an x from 0 to 1, or NaN.
static __device__ __forceinline__ float divide_by_one_plus(float a, float b)
{
    const float near = reciprocal_approx(b), r = fmaf(near, fmaf(-near, b, 1.0f), near);
    const float q = a * r, rest = fmaf(-q, b, a);
    return fabsf(rest) > 0.0f ? fmaf(rest, r, q) : q;  // not where a is infinite
}

// One element.
static __device__ __forceinline__ void
mish_f32_element(const float x_v, float& y_v, float& dy_v)
{
    // let t = tanh(softplus(x))
    const float t = expf(-fabsf(x_v));
    const float t_v = tanhf(nan_max(x_v, 0.0f) + log1pf(t));
    // y     = x * t
    y_v = x_v * t_v;
    // dy    = t + x * sigmoid(x) * (1 - t * t)
    dy_v = t_v + x_v * divide_by_one_plus(x_v < 0.0f ? t : 1.0f, 1.0f + t) * (1.0f - t_v * t_v);
}

// Operands in memory order, 4 elements a thread.
// Launch: ceil(n / 1024) blocks of 256 threads (a divisor of every SM's threads), for n < 2^31 elements.
// Alignment, in bytes: 16 for y, dy and x.
// No other operand may overlap y and dy in memory.
extern "C" __global__ void __launch_bounds__(256)
mish_f32_contiguous(const float* x_ptr,
                    float* __restrict__ y_ptr,
                    float* __restrict__ dy_ptr,
                    const unsigned int n)
{
    const unsigned int i = 4u * (blockIdx.x * 256u + threadIdx.x);  // the first of this thread's 4 elements
    wait_for_earlier_kernels();
    if (i + 4 <= n) {
        const auto x_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(x_ptr + i);
        Pack<float, 4, 16> y_vec;
        Pack<float, 4, 16> dy_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            mish_f32_element(x_vec.at[j], y_vec.at[j], dy_vec.at[j]);
        }
        *reinterpret_cast<Pack<float, 4, 16>*>(y_ptr + i) = y_vec;
        *reinterpret_cast<Pack<float, 4, 16>*>(dy_ptr + i) = dy_vec;
    } else {
        #pragma unroll 1
        for (unsigned int e = i; e < n; ++e) {
            mish_f32_element(x_ptr[e], y_ptr[e], dy_ptr[e]);
        }
    }
    let_next_kernel_start();
}

// Operands in memory order, 4 elements a thread. Indices are 64-bit.
// Launch: ceil(n / 1024) blocks of 256 threads (a divisor of every SM's threads), for n elements.
// Alignment, in bytes: 16 for y, dy and x.
// No other operand may overlap y and dy in memory.
extern "C" __global__ void __launch_bounds__(256)
mish_f32_contiguous_64bit(const float* x_ptr,
                          float* __restrict__ y_ptr,
                          float* __restrict__ dy_ptr,
                          const long long n)
{
    const long long i = 4 * (blockIdx.x * 256ll + threadIdx.x);  // the first of this thread's 4 elements
    wait_for_earlier_kernels();
    if (i + 4 <= n) {
        const auto x_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(x_ptr + i);
        Pack<float, 4, 16> y_vec;
        Pack<float, 4, 16> dy_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            mish_f32_element(x_vec.at[j], y_vec.at[j], dy_vec.at[j]);
        }
        *reinterpret_cast<Pack<float, 4, 16>*>(y_ptr + i) = y_vec;
        *reinterpret_cast<Pack<float, 4, 16>*>(dy_ptr + i) = dy_vec;
    } else {
        #pragma unroll 1
        for (long long e = i; e < n; ++e) {
            mish_f32_element(x_ptr[e], y_ptr[e], dy_ptr[e]);
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_mish_f32
