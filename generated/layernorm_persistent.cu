// Made by kgen 0.1.0 from layernorm.k. Do not edit; remake it with
//     kgen compile layernorm.k -o layernorm_persistent.cu --dtype x=bf16,weight=bf16,bias=bf16 --shape x=2048x131072,weight=131072,bias=131072 --name layernorm_persistent --arch sm_90
//
//     # Layer normalisation over the last axis.
//     input x, weight, bias
//     param eps = 1e-5
//     let d = x - mean(x, axis=-1, keepdims=true)
//     y = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + eps) * weight + bias
//
// Inputs:  x: bfloat16, weight: bfloat16, bias: bfloat16, eps: float32 (by value)
// Outputs: y: bfloat16
//
// Chosen: rows: clusters of 8 blocks of 256 threads share a row of 131072 elements and keep it in registers, 64 elements each: one pass over memory.
// Chosen: persistent: clusters take row after row, and keep one operand that all rows share in shared memory.
// Chosen: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

#include <cuda_bf16.h>

namespace kgen_layernorm_persistent {

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

// Converts bfloat16 to float by a shift, which the compiler can fold; __bfloat162float is inline assembly.
static __device__ __forceinline__ float to_float(__nv_bfloat16 x)
{
    const unsigned int upper = __bfloat16_as_ushort(x);
    return __uint_as_float(upper << 16);
}

// Arrives at an mbarrier, whose current phase then waits for `bytes` bytes.  One thread calls it.
static __device__ __forceinline__ void mbarrier_expect(unsigned long long& arrived, unsigned int bytes)
{
    const unsigned int at = (unsigned int)__cvta_generic_to_shared(&arrived);
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at), "r"(bytes) : "memory");
}

// Initialises an mbarrier whose first phase waits for `bytes` bytes from blocks of the cluster.  One thread calls it,
// before any block sends.
static __device__ __forceinline__ void mbarrier_init_expect(unsigned long long& arrived, unsigned int bytes)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#error "thread-block clusters need sm_90 or later: leave --arch out for a file that runs everywhere"
#endif
    const unsigned int at = (unsigned int)__cvta_generic_to_shared(&arrived);
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    mbarrier_expect(arrived, bytes);
}

// Writes to the same shared variable of block `rank` of the cluster, and counts the bytes on that block's mbarrier.
template <typename T>
static __device__ __forceinline__ void send_to_block(T& slot, T value, unsigned long long& arrived, unsigned int rank)
{
    static_assert(sizeof(T) % 4 == 0, "whole words are written");
    unsigned int words[sizeof(T) / 4], to, count;
    memcpy(words, &value, sizeof(T));
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(to) : "r"((unsigned int)__cvta_generic_to_shared(&slot)), "r"(rank));
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(count) : "r"((unsigned int)__cvta_generic_to_shared(&arrived)), "r"(rank));
    #pragma unroll
    for (int w = 0; w < (int)sizeof(T) / 4; ++w) {
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
                     :: "r"(to + 4 * w), "r"(words[w]), "r"(count) : "memory");
    }
}

// Waits until all bytes of this phase of this block's mbarrier have arrived.
// parity: the number of the phase, modulo 2.
static __device__ __forceinline__ void mbarrier_wait(unsigned long long& arrived, unsigned int parity)
{
    const unsigned int at = (unsigned int)__cvta_generic_to_shared(&arrived);
    unsigned int done = 0;
    while (!done) {
        asm volatile("{\n"
                     ".reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n"
                     "}" : "=r"(done) : "r"(at), "r"(parity) : "memory");
    }
}

// Makes a group opaque to the compiler, so that elements stay packed in words until they are used: in half the
// registers, or fewer.
template <typename T, int N, int Bytes>
static __device__ __forceinline__ void keep_packed(Pack<T, N, Bytes>& x)
{
#if defined(__CUDA_ARCH__)
    unsigned int* const words = reinterpret_cast<unsigned int*>(&x);
    #pragma unroll
    for (int w = 0; w < N * (int)sizeof(T) / 4; ++w) {
        asm("" : "+r"(words[w]));
    }
#endif
}

// Element j of a group, extracted from its 32-bit word by one instruction.
template <int N, int Bytes>
static __device__ __forceinline__ __nv_bfloat16 extract(const Pack<__nv_bfloat16, N, Bytes>& x, int j)
{
    unsigned int word;
    memcpy(&word, &x.at[j / 2 * 2], sizeof(word));
    return __ushort_as_bfloat16(word >> 16 * (j % 2));
}

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

// The number of some elements and their sum: the first of two steps to the moments of a warp's elements.
template <typename T>
struct Total {
    T count, sum;

    static __device__ __forceinline__ Total identity() { return {0, 0}; }

    // Adds the sum of a group of `elements` elements.
    __device__ __forceinline__ void add(const Sum<T>& group, int elements) { merge({(T)elements, group.sum}); }

    __device__ __forceinline__ void merge(const Total& other)
    {
        count += other.count;
        sum += other.sum;
    }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ Total shuffle_xor(int d) const
    {
        return {__shfl_xor_sync(0xffffffffu, count, d), __shfl_xor_sync(0xffffffffu, sum, d)};
    }

    __device__ __forceinline__ T result() const { return sum; }
};

// The number of some elements, their mean, and the sum of their squared distances from it.
template <typename T>
struct Moments {
    T count, mean, distance;

    static __device__ __forceinline__ Moments identity() { return {0, 0, 0}; }

    // Adds a group of elements, by the group's own mean.
    template <int N>
    __device__ __forceinline__ void add(const T (&x)[N])
    {
        Moments group{N, 0, 0};
        #pragma unroll
        for (int j = 0; j < N; ++j) {
            group.mean += x[j];
        }
        group.mean *= 1 / (T)N;
        #pragma unroll
        for (int j = 0; j < N; ++j) {
            group.distance += (x[j] - group.mean) * (x[j] - group.mean);
        }
        merge(group);
    }

    // Merges two sets of elements (Chan, Golub and LeVeque, 1979).  The weight may be off by 2 ulp.  There is no
    // branch, so that loads of several sets overlap.  Infinite means are added.
    __device__ __forceinline__ void merge(const Moments& other)
    {
        const T total = count + other.count, delta = other.mean - mean;
        const T quotient =
            sizeof(T) == 4 ? (T)__fdividef((float)other.count, (float)total) : other.count / total;
        const T weight = count == 0 ? 1 : quotient;
        distance += other.distance + delta * (delta * (count * weight));
        mean += isfinite(delta) ? delta * weight : other.mean;
        count = total;
    }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ Moments shuffle_xor(int d) const
    {
        return {__shfl_xor_sync(0xffffffffu, count, d), __shfl_xor_sync(0xffffffffu, mean, d),
                __shfl_xor_sync(0xffffffffu, distance, d)};
    }

    // The state of the first of Lanes lanes.  All have merged the same sets, but in different orders, so their last
    // bits differ.
    template <int Lanes>
    __device__ __forceinline__ Moments broadcast_first() const
    {
        return {count, __shfl_sync(0xffffffffu, mean, 0, Lanes), __shfl_sync(0xffffffffu, distance, 0, Lanes)};
    }

    // The mean; NaN without elements.
    __device__ __forceinline__ T mean_or_nan() const { return count > 0 ? mean : mean / count; }

    template <typename Count>
    __device__ __forceinline__ T variance(Count elements) const { return distance / (T)elements; }

    template <typename Count>
    __device__ __forceinline__ T variance(Count elements, int correction) const
    {
        return distance / (T)max(elements - correction, (Count)0);
    }

    template <typename Count>
    __device__ __forceinline__ T variance(Count elements, double correction) const
    {
        return distance / (T)fmax((double)elements - correction, 0.0);
    }

    // The square root of the variance.
    template <typename Count, typename... Correction>
    __device__ __forceinline__ T deviation(Count elements, Correction... correction) const
    {
        return sqrt(variance(elements, correction...));
    }
};

// The sum of squared distances from the mean, which a first step has computed: with fewer instructions than Moments,
// and more accurately.
template <typename T>
struct Distances {
    T count, mean, distance;

    static __device__ __forceinline__ Distances of(const Total<T>& all)
    {
        return {all.count, all.sum / max(all.count, (T)1), 0};
    }

    // The initial state of a group of the same elements.
    __device__ __forceinline__ Distances part() const { return {0, mean, 0}; }

    __device__ __forceinline__ void add(T x) { distance += (x - mean) * (x - mean); }
    __device__ __forceinline__ void merge(const Distances& other) { distance += other.distance; }

    // The state of thread `thread ^ d`, which has the same mean.
    __device__ __forceinline__ Distances shuffle_xor(int d) const
    {
        return {count, mean, __shfl_xor_sync(0xffffffffu, distance, d)};
    }

    __device__ __forceinline__ Moments<T> moments() const { return {count, mean, distance}; }
};

// Accumulates one element into var.
static __device__ __forceinline__ void
layernorm_persistent_total(const __nv_bfloat16 x_v, Sum<float>& var_total)
{
    // y = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + eps) * weight + bias
    var_total.add(to_float(x_v));
}

// Accumulates one element into var.
static __device__ __forceinline__ void
layernorm_persistent_pass(const __nv_bfloat16 x_v, Distances<float>& var_acc)
{
    // y = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + eps) * weight + bias
    var_acc.add(to_float(x_v));
}

// One element of y.
static __device__ __forceinline__ void
layernorm_persistent_element(const __nv_bfloat16 x_v,
                             const __nv_bfloat16 weight_v,
                             const __nv_bfloat16 bias_v,
                             const float mean_v,
                             const float t2,
                             __nv_bfloat16& y_v)
{
    // let d = x - mean(x, axis=-1, keepdims=true)
    const float d_v = to_float(x_v) - mean_v;
    // y = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + eps) * weight + bias
    y_v = __float2bfloat16_rn(d_v * t2 * to_float(weight_v) + to_float(bias_v));
}

// Where the rows lie; strides and steps in elements.
struct layernorm_persistent_reduce_regs131072_persistent_layout {
    long long y_stride[1];  // of y and x
    int width;  // elements of a row
};

// Rows of 114689 to 131072 elements, kept in registers: a cluster of 8 blocks a row (sm_90 and CUDA 12.1, or later).
// Launch: 8 blocks of 256 threads for each cluster; `next_row_counter` is 0.
// Bound: 3 blocks an SM, which leaves L1 room for the other operands.
// Clusters: as many as fit the device (cudaOccupancyMaxActiveClusters), but no more than n, of rows.
// Limits: fewer than 2^31 rows, and every place within a row, in bytes, below 2^31.
// Alignment, in bytes: 16 for y, x, weight and bias.
// Vector accesses: row widths and row strides are multiples of 8 elements.
// No other operand may overlap y in memory.
extern "C" __global__ void __cluster_dims__(8, 1, 1) __launch_bounds__(256, 3)
layernorm_persistent_reduce_regs131072_persistent(const __nv_bfloat16* x_ptr,
                                                  const __nv_bfloat16* weight_ptr,
                                                  const __nv_bfloat16* bias_ptr,
                                                  __nv_bfloat16* __restrict__ y_ptr,
                                                  const float eps_v,
                                                  unsigned int* next_row_counter,
                                                  const layernorm_persistent_reduce_regs131072_persistent_layout layout,
                                                  const unsigned int n)
{
    const unsigned int rank = blockIdx.x % 8;  // of the block in its cluster
    const int thread = rank * 256 + threadIdx.x;
    __shared__ Moments<float> var_warp_partials[2][64];
    __shared__ unsigned long long arrived[2];
    __shared__ unsigned int next_row_smem[2];
    if (threadIdx.x == 0) {
        mbarrier_init_expect(arrived[0], 64 * sizeof(Moments<float>) + sizeof(next_row_smem[0]));
        mbarrier_init_expect(arrived[1], 64 * sizeof(Moments<float>) + sizeof(next_row_smem[0]));
    }
    __cluster_barrier_arrive_relaxed();
    wait_for_earlier_kernels();
    // The operand that all rows share.  Each thread reads only the elements that it stored: no barrier is needed.
    __shared__ Pack<__nv_bfloat16, 8, 16> weight_smem[8][256];
    #pragma unroll
    for (int v = 0; v < 8; ++v) {
        const int i = 8 * (v * 2048 + thread);
        if (v < 7 || i < layout.width) {
            weight_smem[v][threadIdx.x] = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(weight_ptr + i);
        }
    }
    __cluster_barrier_wait();  // all blocks have initialised their mbarriers

    for (unsigned int row = blockIdx.x / 8, next_row = 0, iteration = 0; row < n; row = next_row, ++iteration) {
        const unsigned int set = iteration % 2;  // of slots, for this iteration
        if (rank == 0 && threadIdx.x == 0) {
            next_row = gridDim.x / 8 + atomicInc(next_row_counter, n - 1);  // wraps to 0 for the next launch
        }
        __nv_bfloat16* const y_row = y_ptr + row * layout.y_stride[0];
        const __nv_bfloat16* const x_row = x_ptr + row * layout.y_stride[0];

        Pack<__nv_bfloat16, 8, 16> x_vec[8];
        #pragma unroll
        for (int v = 0; v < 8; ++v) {
            const int i = 8 * (v * 2048 + thread);
            if (v < 7 || i < layout.width) {
                x_vec[v] = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(x_row + i);
            }
        }

        auto var_total = Total<float>::identity();
        #pragma unroll
        for (int v = 0; v < 8; ++v) {
            const int i = 8 * (v * 2048 + thread);
            if (v < 7 || i < layout.width) {
                keep_packed(x_vec[v]);
                auto var_total_part = Sum<float>::identity();
                #pragma unroll
                for (int j = 0; j < 8; ++j) {
                    layernorm_persistent_total(extract(x_vec[v], j), var_total_part);
                }
                var_total.add(var_total_part, 8);
            }
        }
        #pragma unroll
        for (int d = 16; d > 0; d /= 2) {
            var_total.merge(var_total.shuffle_xor(d));
        }

        auto var_distances = Distances<float>::of(var_total);
        #pragma unroll
        for (int v = 0; v < 8; ++v) {
            const int i = 8 * (v * 2048 + thread);
            if (v < 7 || i < layout.width) {
                keep_packed(x_vec[v]);
                auto var_part = var_distances.part();
                #pragma unroll
                for (int j = 0; j < 8; ++j) {
                    layernorm_persistent_pass(extract(x_vec[v], j), var_part);
                }
                var_distances.merge(var_part);
            }
        }
        #pragma unroll
        for (int d = 16; d > 0; d /= 2) {
            var_distances.merge(var_distances.shuffle_xor(d));
        }
        auto var_acc = var_distances.moments();
        next_row = __shfl_sync(0xffffffffu, next_row, 0);
        if (threadIdx.x % 32 < 8) {  // each warp sends its state to every block
            send_to_block(var_warp_partials[set][rank * 8 + threadIdx.x / 32], var_acc, arrived[set], threadIdx.x % 32);
            if (rank == 0 && threadIdx.x < 32) {
                send_to_block(next_row_smem[set], next_row, arrived[set], threadIdx.x);
            }
        }
        mbarrier_wait(arrived[set], iteration / 2 % 2);
        if (threadIdx.x == 0) {
            mbarrier_expect(arrived[set], 64 * sizeof(Moments<float>) + sizeof(next_row_smem[0]));
        }
        next_row = next_row_smem[set];
        var_acc = var_warp_partials[set][threadIdx.x % 32];
        for (int w = 32; w < 64; w += 32) {
            var_acc.merge(var_warp_partials[set][w + threadIdx.x % 32]);
        }
        #pragma unroll
        for (int d = 16; d > 0; d /= 2) {
            var_acc.merge(var_acc.shuffle_xor(d));
        }
        var_acc = var_acc.broadcast_first<32>();
        const float mean_v = var_acc.mean;
        const float var_v = var_acc.variance(layout.width);
        // y = d * rsqrt(mean(d * d, axis=-1, keepdims=true) + eps) * weight + bias
        const float t = var_v + eps_v;
        const float t2 = rsqrtf(t);

        #pragma unroll
        for (int v = 0; v < 8; ++v) {
            const int i = 8 * (v * 2048 + thread);
            if (v < 7 || i < layout.width) {
                keep_packed(x_vec[v]);
                const auto weight_vec = weight_smem[v][threadIdx.x];
                const auto bias_vec = *reinterpret_cast<const Pack<__nv_bfloat16, 8, 16>*>(bias_ptr + i);
                Pack<__nv_bfloat16, 8, 16> y_vec;
                #pragma unroll
                for (int j = 0; j < 8; ++j) {
                    layernorm_persistent_element(extract(x_vec[v], j), extract(weight_vec, j),
                                                 extract(bias_vec, j), mean_v, t2, y_vec.at[j]);
                }
                *reinterpret_cast<Pack<__nv_bfloat16, 8, 16>*>(y_row + i) = y_vec;
            }
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_layernorm_persistent
