// Made by kgen 0.1.0 from batch_stats.k. Do not edit; remake it with
//     kgen compile batch_stats.k -o batch_stats.cu --dtype image=f32 --shape image=64x256x56x56
//
//     # Mean and variance of each channel of a batch of images.
//     mu = mean(image, axis=(0, 2, 3))
//     sigma2 = var(image, axis=(0, 2, 3))
//
// Inputs:  image: float32
// Outputs: mu: float32, sigma2: float32
//
// Chosen: rows: 256 threads share a row and walk it once.
// Chosen: split: too few rows to keep a device busy, so several blocks share each; the last one merges their results.
// Chosen: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

namespace kgen_batch_stats {

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

// What goes into var, of one element.
static __device__ __forceinline__ void
batch_stats_pass(const float image_v, float& var_acc)
{
    // sigma2 = var(image, axis=(0, 2, 3))
    var_acc = image_v;
}

// Where the rows lie; strides and steps in elements.
struct batch_stats_reduce_long_split_layout {
    long long mu_stride[1];  // of mu and sigma2
    long long image_stride[1];
    int width;  // elements of a row
    int span;  // elements of a row that a block takes
    int image_step[1];  // along a row, beyond its fastest dimension
    unsigned int place_extent[1];  // of places in a row
    unsigned int place_magic[1];  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int place_shift[1];  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
};

// Rows of any length, each shared by several blocks: 256 threads a row and block.
// Launch: (rows, ceil(width / span)) blocks of 256 threads; `span`: any multiple of 4.
// Memory: rows * gridDim.y of each `*_block_partials`; `arrived` counts for each row, 0 before and after.
// Limits: fewer than 2^31 rows, and every place within a row, in bytes, below 2^31 - 2^16.
// Alignment, in bytes: 16 for image.
// Vector accesses: the fastest extent and the strides beyond it are multiples of 4 elements.
// No other operand may overlap mu and sigma2 in memory.
extern "C" __global__ void __launch_bounds__(256)
batch_stats_reduce_long_split(const float* image_ptr,
                              float* __restrict__ mu_ptr,
                              float* __restrict__ sigma2_ptr,
                              Moments<float>* var_block_partials,
                              unsigned int* arrived,
                              const batch_stats_reduce_long_split_layout layout)
{
    const int thread = threadIdx.x;
    const unsigned int row = blockIdx.x;
    const float* const image_row = image_ptr + row * layout.image_stride[0];
    const int first = blockIdx.y * layout.span;  // where this block's span begins
    const int last = first + min(layout.span, layout.width - first);
    wait_for_earlier_kernels();

    __shared__ Moments<float> var_warp_partials[8];
    auto var_acc = Moments<float>::identity();
    #pragma unroll 4
    for (int i = first + 4 * thread; i < last; i += 1024) {
        const unsigned int s0 = (__umulhi(i, layout.place_magic[0]) + i) >> layout.place_shift[0];
        const int r0 = (int)(i - s0 * layout.place_extent[0]);
        const int r1 = (int)s0;
        const auto image_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(image_row + r0 + r1 * layout.image_step[0]);
        float var_part[4];
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            batch_stats_pass(image_vec.at[j], var_part[j]);
        }
        var_acc.add(var_part);
    }
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        var_acc.merge(var_acc.shuffle_xor(d));
    }
    if (threadIdx.x % 32 == 0) {
        var_warp_partials[threadIdx.x / 32] = var_acc;
    }
    __syncthreads();
    var_acc = var_warp_partials[threadIdx.x % 8];
    #pragma unroll
    for (int d = 4; d > 0; d /= 2) {
        var_acc.merge(var_acc.shuffle_xor(d));
    }

    // The last block of this row to arrive merges the partials of all, always in the same order.
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        var_block_partials[row * gridDim.y + blockIdx.y] = var_acc;
        __threadfence();  // release: this block's partials are visible before its arrival
        is_last = atomicInc(&arrived[row], gridDim.y - 1) == gridDim.y - 1;
        __threadfence();  // acquire: the last block sees all partials
    }
    __syncthreads();
    if (!is_last) {
        return;
    }
    var_acc = Moments<float>::identity();
    for (unsigned int b = thread; b < gridDim.y; b += 256) {
        var_acc.merge(var_block_partials[row * gridDim.y + b]);
    }
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        var_acc.merge(var_acc.shuffle_xor(d));
    }
    if (threadIdx.x % 32 == 0) {
        var_warp_partials[threadIdx.x / 32] = var_acc;
    }
    __syncthreads();
    var_acc = var_warp_partials[threadIdx.x % 8];
    #pragma unroll
    for (int d = 4; d > 0; d /= 2) {
        var_acc.merge(var_acc.shuffle_xor(d));
    }
    const float mean_v = var_acc.mean_or_nan();
    const float var_v = var_acc.variance(layout.width);

    if (thread == 0) {
        // mu = mean(image, axis=(0, 2, 3))
        mu_ptr[row * layout.mu_stride[0]] = mean_v;
        // sigma2 = var(image, axis=(0, 2, 3))
        sigma2_ptr[row * layout.mu_stride[0]] = var_v;
    }
    let_next_kernel_start();
}

}  // namespace kgen_batch_stats
