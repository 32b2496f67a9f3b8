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
// Chosen: rows: 1024 threads share a row and walk it once.
// Chosen: split: too few rows to keep a device busy, so several blocks share each; the last one merges their results.
// Chosen: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

// N consecutive elements that move as one access of Bytes bytes at a time.
template <typename T, int N, int Bytes>
struct alignas(Bytes) Pack {
    T at[N];
};

// Elements seen, their mean, and the sum of their squared distances from it.
template <typename T>
struct Moments {
    T count, mean, distance;
};

// Two sets of elements as one (Chan, Golub and LeVeque, 1979).  The share may be off by a rounding or two.  There is no
// branch, so that several sets can be on their way from memory.  Infinite means meet as in a sum.
template <typename T>
static __device__ __forceinline__ void merge(Moments<T>& a, const Moments<T>& b)
{
    const T count = a.count + b.count, apart = b.mean - a.mean;
    const T quotient = sizeof(T) == 4 ? (T)__fdividef((float)b.count, (float)count) : b.count / count;
    const T share = a.count == 0 ? 1 : quotient;
    a.distance += b.distance + apart * (apart * (a.count * share));
    a.mean += isfinite(apart) ? apart * share : b.mean;
    a.count = count;
}

// Takes the elements of a group into the moments, about the group's own mean.
template <typename T, int N>
static __device__ __forceinline__ void add_group(Moments<T>& all, const T (&x)[N])
{
    T sum = 0, distance = 0;
    #pragma unroll
    for (int j = 0; j < N; ++j) {
        sum += x[j];
    }
    const T mean = sum * (1 / (T)N);
    #pragma unroll
    for (int j = 0; j < N; ++j) {
        distance += (x[j] - mean) * (x[j] - mean);
    }
    merge(all, Moments<T>{N, mean, distance});
}

// The mean of the elements seen; NaN where there are none.
template <typename T>
static __device__ __forceinline__ T mean_of(const Moments<T>& a)
{
    return a.count > 0 ? a.mean : a.mean / a.count;
}

// The state of the thread whose number differs by the bit `d`.
template <typename T>
static __device__ __forceinline__ Moments<T> shuffled(const Moments<T>& a, int d)
{
    return {__shfl_xor_sync(0xffffffffu, a.count, d), __shfl_xor_sync(0xffffffffu, a.mean, d),
            __shfl_xor_sync(0xffffffffu, a.distance, d)};
}

// What goes into var, of one element.
static __device__ __forceinline__ void
batch_stats_pass(const float image_v, float& var_acc)
{
    // sigma2 = var(image, axis=(0, 2, 3))
    var_acc = image_v;
}

// Where the rows lie; strides and steps in elements.
struct batch_stats_rows_long_split_layout {
    long long mu_stride[1];  // of mu and sigma2
    long long image_stride[1];
    int width;  // elements of a row
    int span;  // elements of a row that a block takes
    int image_step[1];  // along a row, beyond its fastest dimension
    unsigned int place_extent[1];  // of places in a row
    unsigned int place_magic[1];  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int place_shift[1];  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
};

// Rows of any length, each shared by several blocks: 1024 threads a row and block.
// Launch: (rows, ceil(width / span)) blocks of 1024 threads; `span`: any multiple of 4.
// Memory: rows * gridDim.y of each `*_of_blocks`; `arrived` counts for each row, 0 before and after.
// Limits: fewer than 2^31 rows, and every place within a row, in bytes, below 2^31 - 2^16.
// Alignment, in bytes: 16 for image.
// What moves by groups has a fastest extent, and strides beyond it, of multiples of 4 elements.
// No other operand may overlap mu and sigma2 in memory.
extern "C" __global__ void __launch_bounds__(1024)
batch_stats_rows_long_split(const float* __restrict__ image_ptr,
                            float* __restrict__ mu_ptr,
                            float* __restrict__ sigma2_ptr,
                            Moments<float>* var_of_blocks,
                            unsigned int* arrived,
                            const batch_stats_rows_long_split_layout layout)
{
    const int lane = threadIdx.x;
    const unsigned int row = blockIdx.x;
    const float* const image_row = image_ptr + row * layout.image_stride[0];
    const int first = blockIdx.y * layout.span;  // of what this block takes of the row
    const int last = first + min(layout.span, layout.width - first);

    __shared__ Moments<float> var_of_warps[32];
    Moments<float> var_acc = {};
    #pragma unroll 4
    for (int i = first + 4 * lane; i < last; i += 4096) {
        const unsigned int s0 = (__umulhi(i, layout.place_magic[0]) + i) >> layout.place_shift[0];
        const int r0 = (int)(i - s0 * layout.place_extent[0]);
        const int r1 = (int)s0;
        const auto image_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(image_row + r0 + r1 * layout.image_step[0]);
        float var_part[4];
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            batch_stats_pass(image_vec.at[j], var_part[j]);
        }
        add_group(var_acc, var_part);
    }
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        merge(var_acc, shuffled(var_acc, d));
    }
    if (threadIdx.x % 32 == 0) {
        var_of_warps[threadIdx.x / 32] = var_acc;
    }
    __syncthreads();
    var_acc = var_of_warps[threadIdx.x % 32];
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        merge(var_acc, shuffled(var_acc, d));
    }

    // The last of the blocks that share this row merges what all have left, always in the same order.
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        var_of_blocks[row * gridDim.y + blockIdx.y] = var_acc;
        __threadfence();  // release: who sees this block's arrival sees what it wrote
        is_last = atomicInc(&arrived[row], gridDim.y - 1) == gridDim.y - 1;
        __threadfence();  // acquire: the last block sees what all others wrote
    }
    __syncthreads();
    if (!is_last) {
        return;
    }
    var_acc = Moments<float>{};
    for (unsigned int b = lane; b < gridDim.y; b += 1024) {
        merge(var_acc, var_of_blocks[row * gridDim.y + b]);
    }
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        merge(var_acc, shuffled(var_acc, d));
    }
    if (threadIdx.x % 32 == 0) {
        var_of_warps[threadIdx.x / 32] = var_acc;
    }
    __syncthreads();
    var_acc = var_of_warps[threadIdx.x % 32];
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        merge(var_acc, shuffled(var_acc, d));
    }
    const float mean_v = mean_of(var_acc);
    const float var_v = var_acc.distance / (float)layout.width;

    if (lane == 0) {
        // mu = mean(image, axis=(0, 2, 3))
        mu_ptr[row * layout.mu_stride[0]] = mean_v;
        // sigma2 = var(image, axis=(0, 2, 3))
        sigma2_ptr[row * layout.mu_stride[0]] = var_v;
    }
}
