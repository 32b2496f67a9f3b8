// Made by kgen 0.1.0 from rotate.k. Do not edit; remake it with
//     kgen compile rotate.k -o rotate.cu --dtype z=c64,theta=f32 --layout contiguous
//
//     # Rotary position embedding on pairs seen as complex numbers: z is (batch, position, pair), theta is (position, pair).
//     out = z * complex(cos(theta), sin(theta))
//
// Inputs:  z: complex64, theta: float32
// Outputs: out: complex64
//
// Layout: contiguous.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

namespace kgen_rotate {

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

// One element: out = z * complex(cos(theta), sin(theta))
static __device__ __forceinline__ void
rotate_element(const float2 z_v, const float theta_v, float2& out_v)
{
    const float t = cosf(theta_v);
    const float t2 = sinf(theta_v);
    out_v = make_float2(z_v.x * t - z_v.y * t2, z_v.x * t2 + z_v.y * t);
}

// Operands in memory order, 2 elements a thread.
// Launch: ceil(n / 512) blocks of 256 threads (a divisor of every SM's threads), for n < 2^31 elements.
// Alignment, in bytes: 16 for out and z; 8 for theta.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
rotate_contiguous(const float2* z_ptr,
                  const float* theta_ptr,
                  float2* __restrict__ out_ptr,
                  const unsigned int n)
{
    const unsigned int i = 2u * (blockIdx.x * 256u + threadIdx.x);  // the first of this thread's 2 elements
    wait_for_earlier_kernels();
    if (i + 2 <= n) {
        const auto z_vec = *reinterpret_cast<const Pack<float2, 2, 16>*>(z_ptr + i);
        const auto theta_vec = *reinterpret_cast<const Pack<float, 2, 8>*>(theta_ptr + i);
        Pack<float2, 2, 16> out_vec;
        #pragma unroll
        for (int j = 0; j < 2; ++j) {
            rotate_element(z_vec.at[j], theta_vec.at[j], out_vec.at[j]);
        }
        *reinterpret_cast<Pack<float2, 2, 16>*>(out_ptr + i) = out_vec;
    } else {
        #pragma unroll 1
        for (unsigned int e = i; e < n; ++e) {
            rotate_element(z_ptr[e], theta_ptr[e], out_ptr[e]);
        }
    }
    let_next_kernel_start();
}

// Operands in memory order, 2 elements a thread. Indices are 64-bit.
// Launch: ceil(n / 512) blocks of 256 threads (a divisor of every SM's threads), for n elements.
// Alignment, in bytes: 16 for out and z; 8 for theta.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
rotate_contiguous_64bit(const float2* z_ptr,
                        const float* theta_ptr,
                        float2* __restrict__ out_ptr,
                        const long long n)
{
    const long long i = 2 * (blockIdx.x * 256ll + threadIdx.x);  // the first of this thread's 2 elements
    wait_for_earlier_kernels();
    if (i + 2 <= n) {
        const auto z_vec = *reinterpret_cast<const Pack<float2, 2, 16>*>(z_ptr + i);
        const auto theta_vec = *reinterpret_cast<const Pack<float, 2, 8>*>(theta_ptr + i);
        Pack<float2, 2, 16> out_vec;
        #pragma unroll
        for (int j = 0; j < 2; ++j) {
            rotate_element(z_vec.at[j], theta_vec.at[j], out_vec.at[j]);
        }
        *reinterpret_cast<Pack<float2, 2, 16>*>(out_ptr + i) = out_vec;
    } else {
        #pragma unroll 1
        for (long long e = i; e < n; ++e) {
            rotate_element(z_ptr[e], theta_ptr[e], out_ptr[e]);
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_rotate
