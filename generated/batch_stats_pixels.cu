// Made by kgen 0.1.0 from batch_stats.k. Do not edit; remake it with
//     kgen compile batch_stats.k -o batch_stats_pixels.cu --dtype image=u8 --shape image=32x3x224x224 --strides image=150528x1x672x3 --name batch_stats_pixels
//
//     # Mean and variance of each channel of a batch of images.
//     mu = mean(image, axis=(0, 2, 3))
//     sigma2 = var(image, axis=(0, 2, 3))
//
// Inputs:  image: uint8
// Outputs: mu: float32, sigma2: float32
//
// Chosen: columns: 3 lie side by side, so vectors go across rows, and 288 threads across 768 rows.
// Chosen: split: too few rows to keep a device busy, so several blocks share each; the last one merges their results.
// Chosen: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

namespace kgen_batch_stats_pixels {

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

// Reads a group as 32-bit words.  The compiler would unpack the bytes of a vector load at once.
template <typename T>
static __device__ __forceinline__ T load_words(const void* from)
{
    struct alignas(alignof(T)) Words {
        unsigned int at[sizeof(T) / 4];
    };
    const Words words = *reinterpret_cast<const Words*>(from);
    T result;
    memcpy(&result, &words, sizeof(T));
    return result;
}

// The sum of bytes and of their squares, both exact: fewer than 2^16 at once.
struct ByteMoments {
    int sum;
    unsigned int squares;

    static __device__ __forceinline__ ByteMoments identity() { return {0, 0}; }

    __device__ __forceinline__ void add(int x)
    {
        sum += x;
        squares += x * x;
    }
};

// The same of any number of bytes.
struct IntegerMoments {
    long long sum, squares;

    static __device__ __forceinline__ IntegerMoments identity() { return {0, 0}; }

    __device__ __forceinline__ void merge(const ByteMoments& part)
    {
        sum += part.sum;
        squares += part.squares;
    }

    __device__ __forceinline__ void merge(const IntegerMoments& other)
    {
        sum += other.sum;
        squares += other.squares;
    }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ IntegerMoments shuffle_xor(int d) const
    {
        return {__shfl_xor_sync(0xffffffffu, sum, d), __shfl_xor_sync(0xffffffffu, squares, d)};
    }

    template <typename Count>
    __device__ __forceinline__ double mean(Count count) const { return sum / (double)count; }

    // The sum of squared distances from the mean: exact about floor(mean), then corrected for its distance to the mean.
    __device__ __forceinline__ double distance(long long count) const
    {
        const long long below = count > 0 ? sum / count - (sum % count < 0) : 0, rest = sum - below * count;
        return (double)(squares - below * (sum + rest)) - rest * (rest / (double)count);
    }

    template <typename Count>
    __device__ __forceinline__ double variance(Count elements) const { return distance(elements) / (double)elements; }

    template <typename Count, typename Correction>
    __device__ __forceinline__ double variance(Count elements, Correction correction) const
    {
        return distance(elements) / fmax((double)elements - (double)correction, 0.0);
    }

    // The square root of the variance.
    template <typename Count, typename... Correction>
    __device__ __forceinline__ double deviation(Count elements, Correction... correction) const
    {
        return sqrt(variance(elements, correction...));
    }
};

// Accumulates one element into var.
static __device__ __forceinline__ void
batch_stats_pixels_pass(const unsigned char image_v, ByteMoments& var_acc)
{
    // sigma2 = var(image, axis=(0, 2, 3))
    var_acc.add(image_v);
}

// Where the columns lie; strides and steps in elements.
struct batch_stats_pixels_columns_3_split_layout {
    int height;  // elements of a column
    int span;  // elements of a column that a block takes
};

// 3 columns side by side: the block's vectors cover 768 rows; several blocks share them.
// Launch: (1, ceil(height / span)) blocks of 288 threads; `span`: a multiple of 768.
// Memory: gridDim.x * gridDim.y * 3 of each `*_block_partials`.
// Memory: `arrived`, a counter for each blockIdx.x, 0 before and after.
// Limits: every place within a column, in bytes, is below 2^31.
// Alignment, in bytes: 8 for image; 4 for mu and sigma2.
// No other operand may overlap mu and sigma2 in memory.
extern "C" __global__ void __launch_bounds__(288, 2)
batch_stats_pixels_columns_3_split(const unsigned char* image_ptr,
                                   float* __restrict__ mu_ptr,
                                   float* __restrict__ sigma2_ptr,
                                   IntegerMoments* var_block_partials,
                                   unsigned int* arrived,
                                   const batch_stats_pixels_columns_3_split_layout layout)
{
    const int own = 8 * threadIdx.x;  // this thread's first element of the block's rows
    const int below = (own + 7) / 3;  // the row of its last one
    const unsigned char* const image_own = image_ptr + own;
    const int first = blockIdx.y * layout.span;  // of what this block takes of the columns
    const int last = first + min(layout.span, layout.height - first);
    wait_for_earlier_kernels();

    __shared__ IntegerMoments var_shared[2304];
    IntegerMoments var_acc[8];
    #pragma unroll
    for (int j = 0; j < 8; ++j) {
        var_acc[j] = IntegerMoments::identity();
    }
    int e = first;
    for (; e + 11520 + below < last; e += 12288) {
        Pack<unsigned char, 8, 8> image_vec[16];
        #pragma unroll
        for (int u = 0; u < 16; ++u) {
            image_vec[u] = load_words<Pack<unsigned char, 8, 8>>(
                image_own + (e + u * 768) * 3);
        }
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            auto var_part = ByteMoments::identity();
            #pragma unroll
            for (int u = 0; u < 16; ++u) {
                batch_stats_pixels_pass(image_vec[u].at[j], var_part);
            }
            var_acc[j].merge(var_part);
        }
    }
    if (e + 5376 + below < last) {
        Pack<unsigned char, 8, 8> image_vec[8];
        #pragma unroll
        for (int u = 0; u < 8; ++u) {
            image_vec[u] = load_words<Pack<unsigned char, 8, 8>>(
                image_own + (e + u * 768) * 3);
        }
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            auto var_part = ByteMoments::identity();
            #pragma unroll
            for (int u = 0; u < 8; ++u) {
                batch_stats_pixels_pass(image_vec[u].at[j], var_part);
            }
            var_acc[j].merge(var_part);
        }
        e += 6144;
    }
    if (e + 2304 + below < last) {
        Pack<unsigned char, 8, 8> image_vec[4];
        #pragma unroll
        for (int u = 0; u < 4; ++u) {
            image_vec[u] = load_words<Pack<unsigned char, 8, 8>>(
                image_own + (e + u * 768) * 3);
        }
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            auto var_part = ByteMoments::identity();
            #pragma unroll
            for (int u = 0; u < 4; ++u) {
                batch_stats_pixels_pass(image_vec[u].at[j], var_part);
            }
            var_acc[j].merge(var_part);
        }
        e += 3072;
    }
    if (e + 768 + below < last) {
        Pack<unsigned char, 8, 8> image_vec[2];
        #pragma unroll
        for (int u = 0; u < 2; ++u) {
            image_vec[u] = load_words<Pack<unsigned char, 8, 8>>(
                image_own + (e + u * 768) * 3);
        }
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            auto var_part = ByteMoments::identity();
            #pragma unroll
            for (int u = 0; u < 2; ++u) {
                batch_stats_pixels_pass(image_vec[u].at[j], var_part);
            }
            var_acc[j].merge(var_part);
        }
        e += 1536;
    }
    if (e + below < last) {
        Pack<unsigned char, 8, 8> image_vec;
        image_vec = load_words<Pack<unsigned char, 8, 8>>(
            image_own + e * 3);
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            auto var_part = ByteMoments::identity();
            batch_stats_pixels_pass(image_vec.at[j], var_part);
            var_acc[j].merge(var_part);
        }
    }

    // Rows of 3 elements lie in shared memory as in global memory.
    #pragma unroll
    for (int j = 0; j < 8; ++j) {
        var_shared[own + j] = var_acc[j];
    }

    // The elements after the last whole vector: a thread each.
    __syncthreads();
    if (last == layout.height && threadIdx.x < layout.height * 3 % 8) {
        const int at = layout.height * 3 / 8 * 8 + threadIdx.x;
        IntegerMoments var_single = IntegerMoments::identity();
        const unsigned char image_v = image_ptr[at];
        auto var_single_part = ByteMoments::identity();
        batch_stats_pixels_pass(image_v, var_single_part);
        var_single.merge(var_single_part);
        var_shared[3 * threadIdx.x + at % 3].merge(var_single);
    }
    __syncthreads();
    #pragma unroll 1
    for (int n = 768; n > 1; n = (n + 7) / 8) {
        const int s = (n + 7) / 8;  // the first s states take in the other n - s
        for (int i = threadIdx.x; i < s * 3; i += 288) {
            IntegerMoments var_merged = var_shared[i];
            #pragma unroll
            for (int other = 1; other < 8; ++other) {
                if (i + other * s * 3 < n * 3) {
                    var_merged.merge(var_shared[i + other * s * 3]);
                }
            }
            var_shared[i] = var_merged;
        }
        __syncthreads();
    }

    // The last block of these columns to arrive merges the partials of all, always in the same order.
    const unsigned int own_partials = (blockIdx.x * gridDim.y + blockIdx.y) * 3;
    if (threadIdx.x < 3) {
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
    auto var_whole = IntegerMoments::identity();
    // Unrolled, so that several loads are in flight at once.
    #pragma unroll 8
    for (int b = threadIdx.x / 3; b < int(gridDim.y); b += 96) {
        const unsigned int other_partials = (blockIdx.x * gridDim.y + b) * 3 + threadIdx.x % 3;
        var_whole.merge(var_block_partials[other_partials]);
    }
    var_shared[threadIdx.x] = var_whole;
    __syncthreads();
    #pragma unroll 1
    for (int n = 96; n > 1; n = (n + 7) / 8) {
        const int s = (n + 7) / 8;  // the first s states take in the other n - s
        for (int i = threadIdx.x; i < s * 3; i += 288) {
            IntegerMoments var_merged = var_shared[i];
            #pragma unroll
            for (int other = 1; other < 8; ++other) {
                if (i + other * s * 3 < n * 3) {
                    var_merged.merge(var_shared[i + other * s * 3]);
                }
            }
            var_shared[i] = var_merged;
        }
        __syncthreads();
    }

    if (threadIdx.x < 3) {
        const int column = threadIdx.x;
        float* const mu_column = mu_ptr + column;
        float* const sigma2_column = sigma2_ptr + column;
        const float mean_v = var_shared[threadIdx.x].mean(layout.height);
        const float var_v = var_shared[threadIdx.x].variance(layout.height);
        // mu = mean(image, axis=(0, 2, 3))
        mu_column[0] = mean_v;
        // sigma2 = var(image, axis=(0, 2, 3))
        sigma2_column[0] = var_v;
    }
    let_next_kernel_start();
}

}  // namespace kgen_batch_stats_pixels
