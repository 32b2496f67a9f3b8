// Made by kgen 0.1.0 from argmax.k. Do not edit; remake it with
//     kgen compile argmax.k -o argmax_columns.cu --dtype x=f32 --shape x=1000x65536 --strides x=1x1000 --name argmax_columns
//
//     # The index and the value of each row's maximum.
//     at = argmax(x, axis=-1)
//     top = max(x, axis=-1)
//
// Inputs:  x: float32
// Outputs: at: int64, top: float32
//
// Chosen: columns: 16 threads across groups of 4 columns, 16 threads share each group.
// Chosen: split: too few rows to keep a device busy, so several blocks share each; the last one merges their results.
// Chosen: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

// N consecutive elements that move as one access of Bytes bytes at a time.
template <typename T, int N, int Bytes>
struct alignas(Bytes) Pack {
    T at[N];
};

// A value, and where in its row it is: at 0 until one beats the value that it starts with.
template <typename T, typename Place>
struct Found {
    T value;
    Place at;
};

// Takes a later element of the row, where it is greater than what was found so far; the first NaN wins.
template <typename T, typename Place>
static __device__ __forceinline__ void take_greatest(Found<T, Place>& found, T x, Place place)
{
    if (!(x <= found.value) && found.value == found.value) {
        found.value = x;
        found.at = place;
    }
}

// Replaces a by b where b is greater, or as good and nearer to the start; the first NaN wins.  Without branches.
template <typename T, typename Place>
static __device__ __forceinline__ void first_greatest(Found<T, Place>& a, const Found<T, Place>& b)
{
    const bool a_is_nan = a.value != a.value, b_is_nan = b.value != b.value;
    const bool better = (b.value > a.value) | (b_is_nan & !a_is_nan);
    const bool as_good = (b.value == a.value) | (b_is_nan & a_is_nan);
    if (better | (as_good & (b.at < a.at))) {
        a = b;
    }
}

// The greater of a and b; a NaN wins, and -0.0 is below +0.0.
static __device__ __forceinline__ float nan_max(float a, float b)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    float result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
#else
    if (a == b) return __int_as_float(__float_as_int(a) & __float_as_int(b));
    return a > b || a != a ? a : b;
#endif
}

// Takes one element into argmax and max.
static __device__ __forceinline__ void
argmax_columns_pass(const float x_v, const int place, Found<float, int>& argmax_acc, float& max_acc)
{
    // at = argmax(x, axis=-1)
    take_greatest(argmax_acc, x_v, place);
    // top = max(x, axis=-1)
    max_acc = nan_max(max_acc, x_v);
}

// Where the columns lie; strides and steps in elements.
struct argmax_columns_columns_split_layout {
    int height;  // elements of a column
    int columns;
    int span;  // elements of a column that a block takes
    int x_step[1];  // down a column
};

// Columns, 64 a block: 16 threads across, 16 share a group; several blocks share them.
// Launch: (ceil(columns / 64), ceil(height / span)) blocks of 256 threads; `span`: any.
// Memory: gridDim.x * gridDim.y * 64 of each `*_of_blocks`; `arrived` counts for each blockIdx.x, 0 before and after.
// Limits: fewer than 2^31 columns, and every place within one, in bytes, below 2^31.
// Alignment, in bytes: 16 for at, top and x.
// Columns are a multiple of 4.
// No other operand may overlap at and top in memory.
extern "C" __global__ void __launch_bounds__(256)
argmax_columns_columns_split(const float* __restrict__ x_ptr,
                             long long* __restrict__ at_ptr,
                             float* __restrict__ top_ptr,
                             Found<float, int>* argmax_of_blocks,
                             float* max_of_blocks,
                             unsigned int* arrived,
                             const argmax_columns_columns_split_layout layout)
{
    const int lane = threadIdx.x % 16;
    const int share = threadIdx.x / 16;  // of a group's elements
    const int column = 64 * blockIdx.x + 4 * lane;
    const bool live = column < layout.columns;
    long long* const at_row = at_ptr + column;
    float* const top_row = top_ptr + column;
    const float* const x_row = x_ptr + column;
    const int first = blockIdx.y * layout.span;  // of what this block takes of the columns
    const int last = first + min(layout.span, layout.height - first);

    __shared__ Found<float, int> argmax_shared[1024];
    __shared__ float max_shared[1024];
    Found<float, int> argmax_acc[4];
    float max_acc[4];
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        argmax_acc[j] = Found<float, int>{__int_as_float(0xff800000 /* -inf */), 0};
        max_acc[j] = __int_as_float(0xff800000 /* -inf */);
    }
    if (live) {
        int e = first + share;
        for (; e + 48 < last; e += 64) {
            Pack<float, 4, 16> x_vec[4];
            #pragma unroll
            for (int u = 0; u < 4; ++u) {
                x_vec[u] = *reinterpret_cast<const Pack<float, 4, 16>*>(
                    x_row + (e + u * 16) * layout.x_step[0]);
            }
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                #pragma unroll
                for (int u = 0; u < 4; ++u) {
                    argmax_columns_pass(x_vec[u].at[j], e + u * 16, argmax_acc[j], max_acc[j]);
                }
            }
        }
        if (e + 16 < last) {
            Pack<float, 4, 16> x_vec[2];
            #pragma unroll
            for (int u = 0; u < 2; ++u) {
                x_vec[u] = *reinterpret_cast<const Pack<float, 4, 16>*>(
                    x_row + (e + u * 16) * layout.x_step[0]);
            }
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                #pragma unroll
                for (int u = 0; u < 2; ++u) {
                    argmax_columns_pass(x_vec[u].at[j], e + u * 16, argmax_acc[j], max_acc[j]);
                }
            }
            e += 32;
        }
        if (e < last) {
            Pack<float, 4, 16> x_vec;
            x_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(
                x_row + e * layout.x_step[0]);
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                argmax_columns_pass(x_vec.at[j], e, argmax_acc[j], max_acc[j]);
            }
        }
    }

    // Threads that share columns meet in shared memory, where all threads merge, a column each at a time.
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        argmax_shared[(share * 4 + j) * 16 + lane] = argmax_acc[j];
        max_shared[(share * 4 + j) * 16 + lane] = max_acc[j];
    }
    __syncthreads();
    #pragma unroll
    for (int n = 16; n > 1; n = (n + 1) / 2) {
        const int s = (n + 1) / 2;  // these take what the others have
        for (int i = threadIdx.x; i < (n - s) * 64; i += 256) {
            first_greatest(argmax_shared[i], argmax_shared[i + s * 64]);
            max_shared[i] = nan_max(max_shared[i], max_shared[i + s * 64]);
        }
        __syncthreads();
    }

    // The last of the blocks that share these columns merges what all have left, always in the same order.
    const unsigned int mine = (blockIdx.x * gridDim.y + blockIdx.y) * 64;
    if (threadIdx.x < 64) {
        argmax_of_blocks[mine + threadIdx.x] = argmax_shared[threadIdx.x];
        max_of_blocks[mine + threadIdx.x] = max_shared[threadIdx.x];
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
    Found<float, int> argmax_whole = Found<float, int>{__int_as_float(0xff800000 /* -inf */), 0};
    float max_whole = __int_as_float(0xff800000 /* -inf */);
    // Reads do not wait for merges: several are on their way at once.
    #pragma unroll 8
    for (int b = threadIdx.x / 64; b < int(gridDim.y); b += 4) {
        const unsigned int theirs = (blockIdx.x * gridDim.y + b) * 64 + threadIdx.x % 64;
        first_greatest(argmax_whole, argmax_of_blocks[theirs]);
        max_whole = nan_max(max_whole, max_of_blocks[theirs]);
    }
    argmax_shared[threadIdx.x] = argmax_whole;
    max_shared[threadIdx.x] = max_whole;
    __syncthreads();
    #pragma unroll
    for (int n = 4; n > 1; n = (n + 1) / 2) {
        const int s = (n + 1) / 2;  // these take what the others have
        for (int i = threadIdx.x; i < (n - s) * 64; i += 256) {
            first_greatest(argmax_shared[i], argmax_shared[i + s * 64]);
            max_shared[i] = nan_max(max_shared[i], max_shared[i + s * 64]);
        }
        __syncthreads();
    }

    if (share == 0 && live) {
        Pack<long long, 4, 16> at_vec;
        Pack<float, 4, 16> top_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            const long long argmax_v = argmax_shared[j * 16 + lane].at;
            const float max_v = max_shared[j * 16 + lane];
            // at = argmax(x, axis=-1)
            at_vec.at[j] = argmax_v;
            // top = max(x, axis=-1)
            top_vec.at[j] = max_v;
        }
        *reinterpret_cast<Pack<long long, 4, 16>*>(at_row) = at_vec;
        *reinterpret_cast<Pack<float, 4, 16>*>(top_row) = top_vec;
    }
}
