// Made by kgen 0.1.0 from adam.k. Do not edit; remake it with
//     kgen compile adam.k -o adam.cu --dtype g=f32,p=f32,m=f32,v=f32 --layout contiguous
//
//     # One step of AdamW, in place.  The gradient is read, three arrays are updated.
//     input g
//     inout p, m, v
//     param lr: float = 1e-3
//     param beta1: float = 0.9
//     param beta2: float = 0.999
//     param eps: float = 1e-8
//     param decay: float = 0.01     # weight decay
//     param fix1: float = 1.0       # 1 / (1 - beta1**step), computed once by the caller
//     param fix2: float = 1.0       # 1 / (1 - beta2**step)
//
//     m = beta1 * m + (1 - beta1) * g
//     v = beta2 * v + (1 - beta2) * g * g
//     p = p - lr * (m * fix1 / (sqrt(v * fix2) + eps) + decay * p)
//
// Inputs:  g: float32, p: float32 (updated in place), m: float32 (updated in place), v: float32 (updated in place), lr: float32 (by value), beta1: float32 (by value), beta2: float32 (by value), eps: float32 (by value), decay: float32 (by value), fix1: float32 (by value), fix2: float32 (by value)
//
// Layout: contiguous.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

namespace kgen_adam {

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

// One element.
static __device__ __forceinline__ void
adam_element(const float g_v,
             const float p_v,
             const float m_v,
             const float v_v,
             const float lr_v,
             const float beta1_v,
             const float beta2_v,
             const float eps_v,
             const float decay_v,
             const float fix1_v,
             const float fix2_v,
             float& p_new,
             float& m_new,
             float& v_new)
{
    // m = beta1 * m + (1 - beta1) * g
    const float m_out = beta1_v * m_v + (1.0f - beta1_v) * g_v;
    m_new = m_out;
    // v = beta2 * v + (1 - beta2) * g * g
    const float v_out = beta2_v * v_v + (1.0f - beta2_v) * g_v * g_v;
    v_new = v_out;
    // p = p - lr * (m * fix1 / (sqrt(v * fix2) + eps) + decay * p)
    p_new = p_v - lr_v * (m_out * fix1_v / (sqrtf(v_out * fix2_v) + eps_v) + decay_v * p_v);
}

// Operands in memory order, 4 elements a thread.
// Launch: ceil(n / 1024) blocks of 256 threads (a divisor of every SM's threads), for n < 2^31 elements.
// Alignment, in bytes: 16 for p, m, v and g.
// No other operand may overlap p, m and v in memory.
extern "C" __global__ void __launch_bounds__(256)
adam_contiguous(const float* g_ptr,
                float* __restrict__ p_ptr,
                float* __restrict__ m_ptr,
                float* __restrict__ v_ptr,
                const float lr_v,
                const float beta1_v,
                const float beta2_v,
                const float eps_v,
                const float decay_v,
                const float fix1_v,
                const float fix2_v,
                const unsigned int n)
{
    const unsigned int i = 4u * (blockIdx.x * 256u + threadIdx.x);  // the first of this thread's 4 elements
    wait_for_earlier_kernels();
    if (i + 4 <= n) {
        const auto p_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(p_ptr + i);
        const auto m_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(m_ptr + i);
        const auto v_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(v_ptr + i);
        const auto g_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(g_ptr + i);
        Pack<float, 4, 16> p_newvec;
        Pack<float, 4, 16> m_newvec;
        Pack<float, 4, 16> v_newvec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            adam_element(g_vec.at[j], p_vec.at[j], m_vec.at[j], v_vec.at[j], lr_v, beta1_v, beta2_v,
                         eps_v, decay_v, fix1_v, fix2_v, p_newvec.at[j], m_newvec.at[j],
                         v_newvec.at[j]);
        }
        *reinterpret_cast<Pack<float, 4, 16>*>(p_ptr + i) = p_newvec;
        *reinterpret_cast<Pack<float, 4, 16>*>(m_ptr + i) = m_newvec;
        *reinterpret_cast<Pack<float, 4, 16>*>(v_ptr + i) = v_newvec;
    } else {
        #pragma unroll 1
        for (unsigned int e = i; e < n; ++e) {
            adam_element(g_ptr[e], p_ptr[e], m_ptr[e], v_ptr[e], lr_v, beta1_v, beta2_v, eps_v,
                         decay_v, fix1_v, fix2_v, p_ptr[e], m_ptr[e], v_ptr[e]);
        }
    }
    let_next_kernel_start();
}

// Operands in memory order, 4 elements a thread. Indices are 64-bit.
// Launch: ceil(n / 1024) blocks of 256 threads (a divisor of every SM's threads), for n elements.
// Alignment, in bytes: 16 for p, m, v and g.
// No other operand may overlap p, m and v in memory.
extern "C" __global__ void __launch_bounds__(256)
adam_contiguous_64bit(const float* g_ptr,
                      float* __restrict__ p_ptr,
                      float* __restrict__ m_ptr,
                      float* __restrict__ v_ptr,
                      const float lr_v,
                      const float beta1_v,
                      const float beta2_v,
                      const float eps_v,
                      const float decay_v,
                      const float fix1_v,
                      const float fix2_v,
                      const long long n)
{
    const long long i = 4 * (blockIdx.x * 256ll + threadIdx.x);  // the first of this thread's 4 elements
    wait_for_earlier_kernels();
    if (i + 4 <= n) {
        const auto p_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(p_ptr + i);
        const auto m_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(m_ptr + i);
        const auto v_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(v_ptr + i);
        const auto g_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(g_ptr + i);
        Pack<float, 4, 16> p_newvec;
        Pack<float, 4, 16> m_newvec;
        Pack<float, 4, 16> v_newvec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            adam_element(g_vec.at[j], p_vec.at[j], m_vec.at[j], v_vec.at[j], lr_v, beta1_v, beta2_v,
                         eps_v, decay_v, fix1_v, fix2_v, p_newvec.at[j], m_newvec.at[j],
                         v_newvec.at[j]);
        }
        *reinterpret_cast<Pack<float, 4, 16>*>(p_ptr + i) = p_newvec;
        *reinterpret_cast<Pack<float, 4, 16>*>(m_ptr + i) = m_newvec;
        *reinterpret_cast<Pack<float, 4, 16>*>(v_ptr + i) = v_newvec;
    } else {
        #pragma unroll 1
        for (long long e = i; e < n; ++e) {
            adam_element(g_ptr[e], p_ptr[e], m_ptr[e], v_ptr[e], lr_v, beta1_v, beta2_v, eps_v,
                         decay_v, fix1_v, fix2_v, p_ptr[e], m_ptr[e], v_ptr[e]);
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_adam
