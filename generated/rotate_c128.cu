// Made by kgen 0.1.0 from rotate.k. Do not edit; remake it with
//     kgen compile rotate.k -o rotate_c128.cu --dtype z=c128,theta=f64 --layout contiguous --name rotate_c128
//
//     # Rotary position embedding on pairs seen as complex numbers: z is (batch, position, pair), theta is (position, pair).
//     out = z * complex(cos(theta), sin(theta))
//
// Inputs:  z: complex128, theta: float64
// Outputs: out: complex128
//
// Layout: contiguous.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

namespace kgen_rotate_c128 {

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
rotate_c128_element(const double2 z_v, const double theta_v, double2& out_v)
{
    const double t = cos(theta_v);
    const double t2 = sin(theta_v);
    out_v = make_double2(z_v.x * t - z_v.y * t2, z_v.x * t2 + z_v.y * t);
}

// Operands in memory order, one element a thread.
// Launch: ceil(n / 256) blocks of 256 threads (a divisor of every SM's threads), for n < 2^31 elements.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
rotate_c128_contiguous(const double2* z_ptr,
                       const double* theta_ptr,
                       double2* __restrict__ out_ptr,
                       const unsigned int n)
{
    const unsigned int i = blockIdx.x * 256u + threadIdx.x;
    if (i >= n) {
        return;
    }
    wait_for_earlier_kernels();
    rotate_c128_element(z_ptr[i], theta_ptr[i], out_ptr[i]);
    let_next_kernel_start();
}

// Operands in memory order, one element a thread. Indices are 64-bit.
// Launch: ceil(n / 256) blocks of 256 threads (a divisor of every SM's threads), for n elements.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
rotate_c128_contiguous_64bit(const double2* z_ptr,
                             const double* theta_ptr,
                             double2* __restrict__ out_ptr,
                             const long long n)
{
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i >= n) {
        return;
    }
    wait_for_earlier_kernels();
    rotate_c128_element(z_ptr[i], theta_ptr[i], out_ptr[i]);
    let_next_kernel_start();
}

}  // namespace kgen_rotate_c128
