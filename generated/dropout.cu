// Made by kgen 0.1.0 from dropout.k. Do not edit; remake it with
//     kgen compile dropout.k -o dropout.cu --dtype x=f32 --shape 'x=?'
//
//     # Dropout whose mask is a hash of the element's number: the backward pass recomputes it, so nothing is stored.
//     input x
//     param seed: u32 = 0
//     param p: float = 0.1
//
//     def scramble(h, k) = (h ^ (h >> 16)) * k           # uint32 arithmetic wraps: that is the hash
//     let h0 = cast<u32>(index(0)) ^ seed
//     let h1 = scramble(scramble(h0, 0x7feb352d), 0x846ca68b)
//     let h  = h1 ^ (h1 >> 16)
//     let uniform = cast<float>(h >> 8) * (1 / 2 ** 24)  # 24 random bits: every value is exact
//
//     out = uniform < p ? 0 : x / (1 - p)
//
// Inputs:  x: float32, seed: uint32 (by value), p: float32 (by value)
// Outputs: out: float32
//
// Chosen: contiguous: 4 elements a thread, so that `x` moves in 16-byte accesses.
// Chosen: 32-bit indices: every element number is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

namespace kgen_dropout {

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
dropout_element(const float x_v,
                const unsigned int seed_v,
                const float p_v,
                const long long index0,
                float& out_v)
{
    // let h0 = cast<u32>(index(0)) ^ seed
    const unsigned int h0_v = (unsigned int)index0 ^ seed_v;
    // let h1 = scramble(scramble(h0, 0x7feb352d), 0x846ca68b)
    const unsigned int t = (h0_v ^ (h0_v >> 16)) * 2146121005u;
    const unsigned int h1_v = (t ^ (t >> 16)) * 2221713035u;
    // let h  = h1 ^ (h1 >> 16)
    const unsigned int h_v = h1_v ^ (h1_v >> 16);
    // let uniform = cast<float>(h >> 8) * (1 / 2 ** 24)
    const float uniform_v = (float)(h_v >> 8) * 5.9604645e-08f;
    // out = uniform < p ? 0 : x / (1 - p)
    out_v = uniform_v < p_v ? 0.0f : x_v / (1.0f - p_v);
}

// Operands in memory order, 4 elements a thread.
// Launch: ceil(n / 1024) blocks of 256 threads (a divisor of every SM's threads), for n < 2^31 elements.
// Alignment, in bytes: 16 for out and x.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(256)
dropout_contiguous(const float* x_ptr,
                   float* __restrict__ out_ptr,
                   const unsigned int seed_v,
                   const float p_v,
                   const unsigned int n)
{
    const unsigned int i = 4u * (blockIdx.x * 256u + threadIdx.x);  // the first of this thread's 4 elements
    wait_for_earlier_kernels();
    if (i + 4 <= n) {
        const auto x_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(x_ptr + i);
        Pack<float, 4, 16> out_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            const unsigned int e = i + j;
            dropout_element(x_vec.at[j], seed_v, p_v, e, out_vec.at[j]);
        }
        *reinterpret_cast<Pack<float, 4, 16>*>(out_ptr + i) = out_vec;
    } else {
        #pragma unroll 1
        for (unsigned int e = i; e < n; ++e) {
            dropout_element(x_ptr[e], seed_v, p_v, e, out_ptr[e]);
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_dropout
