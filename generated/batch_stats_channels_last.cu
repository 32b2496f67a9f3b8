// Made by kgen 0.1.0 from batch_stats.k. Do not edit; remake it with
//     kgen compile batch_stats.k -o batch_stats_channels_last.cu --dtype image=f32 --shape image=64x256x56x56 --strides image=802816x1x14336x256 --name batch_stats_channels_last
//
//     # Mean and variance of each channel of a batch of images.
//     mu = mean(image, axis=(0, 2, 3))
//     sigma2 = var(image, axis=(0, 2, 3))
//
// Inputs:  image: float32
// Outputs: mu: float32, sigma2: float32
//
// Chosen: columns: 8 threads across groups of 4 columns, 32 threads share each group.
// Chosen: split: too few rows to keep a device busy, so several blocks share each; the last one merges their results.
// Chosen: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

namespace kgen_batch_stats_channels_last {

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

// The mean of some elements, and the sum of their squared distances from it.  The caller counts the elements: once
// for all columns of a thread.
template <typename T>
struct Spread {
    T mean, distance;

    static __device__ __forceinline__ Spread identity() { return {0, 0}; }

    // Adds a group of elements, by the group's own mean.  seen: the number of elements before;
    // weight: N / (seen + N).
    template <int N, typename Count>
    __device__ __forceinline__ void add(const T (&x)[N], Count seen, Count weight)
    {
        Spread group{0, 0};
        #pragma unroll
        for (int j = 0; j < N; ++j) {
            group.mean += x[j];
        }
        group.mean *= 1 / (T)N;
        #pragma unroll
        for (int j = 0; j < N; ++j) {
            group.distance += (x[j] - group.mean) * (x[j] - group.mean);
        }
        const T delta = group.mean - mean;
        distance += group.distance + delta * (delta * (T)(seen * weight));
        mean += isfinite(delta) ? delta * (T)weight : group.mean;  // infinite means add as in a sum
    }

    template <typename Count>
    __device__ __forceinline__ Moments<T> moments(Count seen) const { return {(T)seen, mean, distance}; }
};

// What goes into var, of one element.
static __device__ __forceinline__ void
batch_stats_channels_last_pass(const float image_v, float& var_acc)
{
    // sigma2 = var(image, axis=(0, 2, 3))
    var_acc = image_v;
}

// Where the columns lie; strides and steps in elements.
struct batch_stats_channels_last_columns_split_layout {
    int height;  // elements of a column
    unsigned int groups;  // of 4 neighbouring columns
    int span;  // elements of a column that a block takes
    int image_step[1];  // down a column
};

// 32 columns a block: 8 threads across, 32 down each column; several blocks share a column.
// Launch: (ceil(columns / 32), ceil(height / span)) blocks of 256 threads; `span`: any.
// Memory: gridDim.x * gridDim.y * 32 of each `*_block_partials`.
// Memory: `arrived`, a counter for each blockIdx.x, 0 before and after.
// Limits: fewer than 2^31 columns, and every place within one, in bytes, below 2^31.
// Alignment, in bytes: 16 for mu, sigma2 and image.
// Columns are a multiple of 4.
// No other operand may overlap mu and sigma2 in memory.
extern "C" __global__ void __launch_bounds__(256)
batch_stats_channels_last_columns_split(const float* image_ptr,
                                        float* __restrict__ mu_ptr,
                                        float* __restrict__ sigma2_ptr,
                                        Moments<float>* var_block_partials,
                                        unsigned int* arrived,
                                        const batch_stats_channels_last_columns_split_layout layout)
{
    const int across = threadIdx.x % 8;  // among the threads across columns
    const int down = threadIdx.x / 8;  // among the threads that share each column
    const unsigned int number = blockIdx.x * 8u + across;  // of a group of columns
    const int column = 4 * (int)number;
    const bool live = number < layout.groups;
    float* const mu_column = mu_ptr + column;
    float* const sigma2_column = sigma2_ptr + column;
    const float* const image_column = image_ptr + column;
    const int first = blockIdx.y * layout.span;  // where this block's span begins
    const int last = first + min(layout.span, layout.height - first);
    wait_for_earlier_kernels();

    __shared__ Moments<float> var_shared[1024];
    Moments<float> var_acc[4];
    Spread<float> var_spread[4];
    float seen = 0;  // elements of each column
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        var_spread[j] = Spread<float>::identity();
    }
    if (live) {
        int e = first + down;
        for (; e + 96 < last; e += 128) {
            Pack<float, 4, 16> image_vec[4];
            #pragma unroll
            for (int u = 0; u < 4; ++u) {
                image_vec[u] = *reinterpret_cast<const Pack<float, 4, 16>*>(
                    image_column + (e + u * 32) * layout.image_step[0]);
            }
            const float weight = __fdividef(4.0f, seen + 4.0f);
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                float var_part[4];
                #pragma unroll
                for (int u = 0; u < 4; ++u) {
                    batch_stats_channels_last_pass(image_vec[u].at[j], var_part[u]);
                }
                var_spread[j].add(var_part, seen, weight);
            }
            seen += 4.0f;
        }
        if (e + 32 < last) {
            Pack<float, 4, 16> image_vec[2];
            #pragma unroll
            for (int u = 0; u < 2; ++u) {
                image_vec[u] = *reinterpret_cast<const Pack<float, 4, 16>*>(
                    image_column + (e + u * 32) * layout.image_step[0]);
            }
            const float weight = __fdividef(2.0f, seen + 2.0f);
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                float var_part[2];
                #pragma unroll
                for (int u = 0; u < 2; ++u) {
                    batch_stats_channels_last_pass(image_vec[u].at[j], var_part[u]);
                }
                var_spread[j].add(var_part, seen, weight);
            }
            seen += 2.0f;
            e += 64;
        }
        if (e < last) {
            Pack<float, 4, 16> image_vec;
            image_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(
                image_column + e * layout.image_step[0]);
            const float weight = __fdividef(1.0f, seen + 1.0f);
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                float var_part[1];
                batch_stats_channels_last_pass(image_vec.at[j], var_part[0]);
                var_spread[j].add(var_part, seen, weight);
            }
            seen += 1.0f;
        }
    }
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        var_acc[j] = var_spread[j].moments(seen);
    }

    // Threads that share columns merge their states in shared memory; each thread merges one column at a time.
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        var_shared[(down * 4 + j) * 8 + across] = var_acc[j];
    }
    __syncthreads();
    #pragma unroll 1
    for (int n = 32; n > 1; n = (n + 7) / 8) {
        const int s = (n + 7) / 8;  // the first s states take in the other n - s
        for (int i = threadIdx.x; i < s * 32; i += 256) {
            Moments<float> var_merged = var_shared[i];
            #pragma unroll
            for (int other = 1; other < 8; ++other) {
                if (i + other * s * 32 < n * 32) {
                    var_merged.merge(var_shared[i + other * s * 32]);
                }
            }
            var_shared[i] = var_merged;
        }
        __syncthreads();
    }

    // The last block of these columns to arrive merges the partials of all, always in the same order.
    const unsigned int own_partials = (blockIdx.x * gridDim.y + blockIdx.y) * 32;
    if (threadIdx.x < 32) {
        var_block_partials[own_partials + threadIdx.x] = var_shared[threadIdx.x];
    }
    __syncthreads();
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        __threadfence();  // release: this block's partials are visible before its arrival
        is_last = atomicInc(&arrived[blockIdx.x], gridDim.y - 1) == gridDim.y - 1;
        __threadfence();  // acquire: the last block sees all partials
    }
    __syncthreads();
    if (!is_last) {
        return;
    }
    auto var_whole = Moments<float>::identity();
    // Unrolled, so that several loads are in flight at once.
    #pragma unroll 8
    for (int b = threadIdx.x / 32; b < int(gridDim.y); b += 8) {
        const unsigned int other_partials = (blockIdx.x * gridDim.y + b) * 32 + threadIdx.x % 32;
        var_whole.merge(var_block_partials[other_partials]);
    }
    var_shared[threadIdx.x] = var_whole;
    __syncthreads();
    #pragma unroll 1
    for (int n = 8; n > 1; n = (n + 7) / 8) {
        const int s = (n + 7) / 8;  // the first s states take in the other n - s
        for (int i = threadIdx.x; i < s * 32; i += 256) {
            Moments<float> var_merged = var_shared[i];
            #pragma unroll
            for (int other = 1; other < 8; ++other) {
                if (i + other * s * 32 < n * 32) {
                    var_merged.merge(var_shared[i + other * s * 32]);
                }
            }
            var_shared[i] = var_merged;
        }
        __syncthreads();
    }

    if (down == 0 && live) {
        Pack<float, 4, 16> mu_vec;
        Pack<float, 4, 16> sigma2_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            const float mean_v = var_shared[j * 8 + across].mean_or_nan();
            const float var_v = var_shared[j * 8 + across].variance(layout.height);
            // mu = mean(image, axis=(0, 2, 3))
            mu_vec.at[j] = mean_v;
            // sigma2 = var(image, axis=(0, 2, 3))
            sigma2_vec.at[j] = var_v;
        }
        *reinterpret_cast<Pack<float, 4, 16>*>(mu_column) = mu_vec;
        *reinterpret_cast<Pack<float, 4, 16>*>(sigma2_column) = sigma2_vec;
    }
    let_next_kernel_start();
}

}  // namespace kgen_batch_stats_channels_last
