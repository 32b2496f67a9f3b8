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

// A sum that also keeps what rounding took away from it.
template <typename T>
struct Sum {
    T sum, rest;
};

template <typename T>
static __device__ __forceinline__ void add(Sum<T>& s, T x)
{
    const T sum = s.sum + x, gained = sum - s.sum;
    s.rest += (s.sum - (sum - gained)) + (x - gained);
    s.sum = sum;
}

template <typename T>
static __device__ __forceinline__ T total(const Sum<T>& s)
{
    return isfinite(s.sum) ? s.sum + s.rest : s.sum;
}

// The mean of the elements seen, and the sum of their squared distances from it; their number is known elsewhere.
template <typename T>
struct Spread {
    T mean, distance;
};

// Takes the elements of a group into it, about the group's own mean: they are `weight` of all, after `seen` others.
template <typename T, int N, typename Count>
static __device__ __forceinline__ void add_group(Spread<T>& all, const T (&x)[N], Count seen, Count weight)
{
    T sum = 0, distance = 0;
    #pragma unroll
    for (int j = 0; j < N; ++j) {
        sum += x[j];
    }
    const T mean = sum * (1 / (T)N), apart = mean - all.mean;
    #pragma unroll
    for (int j = 0; j < N; ++j) {
        distance += (x[j] - mean) * (x[j] - mean);
    }
    all.distance += distance + apart * (apart * (T)(seen * weight));
    all.mean += apart * (T)weight;
}

template <typename T, typename Count>
static __device__ __forceinline__ Moments<T> moments(const Spread<T>& all, Count seen)
{
    return {(T)seen, all.mean, all.distance};
}

// What goes into mean and var, of one element.
static __device__ __forceinline__ void
batch_stats_channels_last_pass(const float image_v, float& mean_acc, float& var_acc)
{
    // mu = mean(image, axis=(0, 2, 3))
    mean_acc += image_v;
    // sigma2 = var(image, axis=(0, 2, 3))
    var_acc = image_v;
}

// Where the columns lie; strides and steps in elements.
struct batch_stats_channels_last_columns_split_layout {
    int height;  // elements of a column
    int columns;
    int span;  // elements of a column that a block takes
    int image_step[1];  // down a column
};

// Columns, 32 a block: 8 threads across, 32 share a group; several blocks share them.
// Launch: (ceil(columns / 32), ceil(height / span)) blocks of 256 threads; `span`: any.
// Memory: gridDim.x * gridDim.y * 32 of each `*_of_blocks`; `arrived` counts for each blockIdx.x, 0 before and after.
// Limits: fewer than 2^31 columns, and every place within one, in bytes, below 2^31.
// Alignment, in bytes: 16 for mu, sigma2 and image.
// Columns are a multiple of 4.
// No other operand may overlap mu and sigma2 in memory.
extern "C" __global__ void __launch_bounds__(256)
batch_stats_channels_last_columns_split(const float* __restrict__ image_ptr,
                                        float* __restrict__ mu_ptr,
                                        float* __restrict__ sigma2_ptr,
                                        float* mean_of_blocks,
                                        Moments<float>* var_of_blocks,
                                        unsigned int* arrived,
                                        const batch_stats_channels_last_columns_split_layout layout)
{
    const int lane = threadIdx.x % 8;
    const int share = threadIdx.x / 8;  // of a group's elements
    const int column = 32 * blockIdx.x + 4 * lane;
    const bool live = column < layout.columns;
    float* const mu_row = mu_ptr + column;
    float* const sigma2_row = sigma2_ptr + column;
    const float* const image_row = image_ptr + column;
    const int first = blockIdx.y * layout.span;  // of what this block takes of the columns
    const int last = first + min(layout.span, layout.height - first);

    __shared__ float mean_shared[1024];
    __shared__ Moments<float> var_shared[1024];
    float mean_acc[4];
    Sum<float> mean_sum[4];
    Moments<float> var_acc[4];
    Spread<float> var_sum[4];
    float seen = 0;  // elements of each column
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        mean_sum[j] = Sum<float>{};
        var_sum[j] = Spread<float>{};
    }
    if (live) {
        int e = first + share;
        for (; e + 96 < last; e += 128) {
            Pack<float, 4, 16> image_vec[4];
            #pragma unroll
            for (int u = 0; u < 4; ++u) {
                image_vec[u] = *reinterpret_cast<const Pack<float, 4, 16>*>(
                    image_row + (e + u * 32) * layout.image_step[0]);
            }
            const float weight = __fdividef(4.0f, seen + 4.0f);
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                float mean_part = 0.0f;
                float var_part[4];
                #pragma unroll
                for (int u = 0; u < 4; ++u) {
                    batch_stats_channels_last_pass(image_vec[u].at[j], mean_part, var_part[u]);
                }
                add(mean_sum[j], mean_part);
                add_group(var_sum[j], var_part, seen, weight);
            }
            seen += 4.0f;
        }
        if (e + 32 < last) {
            Pack<float, 4, 16> image_vec[2];
            #pragma unroll
            for (int u = 0; u < 2; ++u) {
                image_vec[u] = *reinterpret_cast<const Pack<float, 4, 16>*>(
                    image_row + (e + u * 32) * layout.image_step[0]);
            }
            const float weight = __fdividef(2.0f, seen + 2.0f);
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                float mean_part = 0.0f;
                float var_part[2];
                #pragma unroll
                for (int u = 0; u < 2; ++u) {
                    batch_stats_channels_last_pass(image_vec[u].at[j], mean_part, var_part[u]);
                }
                add(mean_sum[j], mean_part);
                add_group(var_sum[j], var_part, seen, weight);
            }
            seen += 2.0f;
            e += 64;
        }
        if (e < last) {
            Pack<float, 4, 16> image_vec;
            image_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(
                image_row + e * layout.image_step[0]);
            const float weight = __fdividef(1.0f, seen + 1.0f);
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                float mean_part = 0.0f;
                float var_part[1];
                batch_stats_channels_last_pass(image_vec.at[j], mean_part, var_part[0]);
                add(mean_sum[j], mean_part);
                add_group(var_sum[j], var_part, seen, weight);
            }
            seen += 1.0f;
        }
    }
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        mean_acc[j] = total(mean_sum[j]);
        var_acc[j] = moments(var_sum[j], seen);
    }

    // Threads that share columns meet in shared memory, where all threads merge, a column each at a time.
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        mean_shared[(share * 4 + j) * 8 + lane] = mean_acc[j];
        var_shared[(share * 4 + j) * 8 + lane] = var_acc[j];
    }
    __syncthreads();
    #pragma unroll
    for (int n = 32; n > 1; n = (n + 1) / 2) {
        const int s = (n + 1) / 2;  // these take what the others have
        for (int i = threadIdx.x; i < (n - s) * 32; i += 256) {
            mean_shared[i] += mean_shared[i + s * 32];
            merge(var_shared[i], var_shared[i + s * 32]);
        }
        __syncthreads();
    }

    // The last of the blocks that share these columns merges what all have left, always in the same order.
    const unsigned int mine = (blockIdx.x * gridDim.y + blockIdx.y) * 32;
    if (threadIdx.x < 32) {
        mean_of_blocks[mine + threadIdx.x] = mean_shared[threadIdx.x];
        var_of_blocks[mine + threadIdx.x] = var_shared[threadIdx.x];
    }
    __syncthreads();
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        __threadfence();  // release: who sees this block's arrival sees what its threads wrote
        is_last = atomicInc(&arrived[blockIdx.x], gridDim.y - 1) == gridDim.y - 1;
        __threadfence();  // acquire: the last block sees what all others wrote
    }
    __syncthreads();
    if (!is_last) {
        return;
    }
    Sum<float> mean_whole{};
    Moments<float> var_whole = Moments<float>{};
    // Reads do not wait for merges: several are on their way at once.
    #pragma unroll 8
    for (int b = threadIdx.x / 32; b < int(gridDim.y); b += 8) {
        const unsigned int theirs = (blockIdx.x * gridDim.y + b) * 32 + threadIdx.x % 32;
        add(mean_whole, mean_of_blocks[theirs]);
        merge(var_whole, var_of_blocks[theirs]);
    }
    mean_shared[threadIdx.x] = total(mean_whole);
    var_shared[threadIdx.x] = var_whole;
    __syncthreads();
    #pragma unroll
    for (int n = 8; n > 1; n = (n + 1) / 2) {
        const int s = (n + 1) / 2;  // these take what the others have
        for (int i = threadIdx.x; i < (n - s) * 32; i += 256) {
            mean_shared[i] += mean_shared[i + s * 32];
            merge(var_shared[i], var_shared[i + s * 32]);
        }
        __syncthreads();
    }

    if (share == 0 && live) {
        Pack<float, 4, 16> mu_vec;
        Pack<float, 4, 16> sigma2_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            const float mean_v = mean_shared[j * 8 + lane] / (float)layout.height;
            const float var_v = var_shared[j * 8 + lane].distance / (float)layout.height;
            // mu = mean(image, axis=(0, 2, 3))
            mu_vec.at[j] = mean_v;
            // sigma2 = var(image, axis=(0, 2, 3))
            sigma2_vec.at[j] = var_v;
        }
        *reinterpret_cast<Pack<float, 4, 16>*>(mu_row) = mu_vec;
        *reinterpret_cast<Pack<float, 4, 16>*>(sigma2_row) = sigma2_vec;
    }
}
