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

namespace kgen_argmax_columns {

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

// The lower bound of a type: -inf, or the smallest integer.
template <typename T>
static __device__ __forceinline__ T lowest()
{
    const bool is_float = (T)0.5 != 0, is_signed = (T)-1 < (T)0;
    return is_float ? (T)__int_as_float(0xff800000) : is_signed ? (T)(1ull << (8 * sizeof(T) - 1)) : (T)0;
}

// max(a, b); NaN if either is, and -0.0 < +0.0.
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

// The maximum of some elements and the index of its first occurrence; the first NaN counts as the maximum.
template <typename T, typename Place>
struct ArgMax {
    T value;
    Place at;

    static __device__ __forceinline__ ArgMax identity() { return {lowest<T>(), 0}; }

    // Adds an element whose index is above those of all before.
    __device__ __forceinline__ void add(T x, Place place)
    {
        if (!(x <= value) && value == value) {
            value = x;
            at = place;
        }
    }

    // Merges two sets of elements, in any order.  Bitwise operators avoid branches.
    __device__ __forceinline__ void merge(const ArgMax& other)
    {
        const bool is_nan = value != value, other_is_nan = other.value != other.value;
        const bool better = (other.value > value) | (other_is_nan & !is_nan);
        const bool as_good = (other.value == value) | (other_is_nan & is_nan);
        if (better | (as_good & (other.at < at))) {
            *this = other;
        }
    }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ ArgMax shuffle_xor(int d) const
    {
        return {__shfl_xor_sync(0xffffffffu, value, d), __shfl_xor_sync(0xffffffffu, at, d)};
    }

    __device__ __forceinline__ long long result() const { return at; }
};

// The maximum of some floats; NaN if any is.
template <typename T>
struct Max {
    T value;

    static __device__ __forceinline__ Max identity() { return {lowest<T>()}; }

    __device__ __forceinline__ void add(T x) { value = nan_max(value, x); }
    __device__ __forceinline__ void merge(const Max& other) { value = nan_max(value, other.value); }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ Max shuffle_xor(int d) const { return {__shfl_xor_sync(0xffffffffu, value, d)}; }

    __device__ __forceinline__ T result() const { return value; }
};

// Accumulates one element into argmax and max.
static __device__ __forceinline__ void
argmax_columns_pass(const float x_v,
                    const int place,
                    ArgMax<float, int>& argmax_acc,
                    Max<float>& max_acc)
{
    // at = argmax(x, axis=-1)
    argmax_acc.add(x_v, place);
    // top = max(x, axis=-1)
    max_acc.add(x_v);
}

// Where the columns lie; strides and steps in elements.
struct argmax_columns_columns_split_layout {
    int height;  // elements of a column
    unsigned int groups;  // of 4 neighbouring columns
    int span;  // elements of a column that a block takes
    int x_step[1];  // down a column
};

// 64 columns a block: 16 threads across, 16 down each column; several blocks share a column.
// Launch: (ceil(columns / 64), ceil(height / span)) blocks of 256 threads; `span`: any.
// Memory: gridDim.x * gridDim.y * 64 of each `*_block_partials`.
// Memory: `arrived`, a counter for each blockIdx.x, 0 before and after.
// Limits: fewer than 2^31 columns, and every place within one, in bytes, below 2^31.
// Alignment, in bytes: 16 for at, top and x.
// Columns are a multiple of 4.
// No other operand may overlap at and top in memory.
extern "C" __global__ void __launch_bounds__(256)
argmax_columns_columns_split(const float* x_ptr,
                             long long* __restrict__ at_ptr,
                             float* __restrict__ top_ptr,
                             ArgMax<float, int>* argmax_block_partials,
                             Max<float>* max_block_partials,
                             unsigned int* arrived,
                             const argmax_columns_columns_split_layout layout)
{
    const int across = threadIdx.x % 16;  // among the threads across columns
    const int down = threadIdx.x / 16;  // among the threads that share each column
    const unsigned int number = blockIdx.x * 16u + across;  // of a group of columns
    const int column = 4 * (int)number;
    const bool live = number < layout.groups;
    long long* const at_column = at_ptr + column;
    float* const top_column = top_ptr + column;
    const float* const x_column = x_ptr + column;
    const int first = blockIdx.y * layout.span;  // where this block's span begins
    const int last = first + min(layout.span, layout.height - first);
    wait_for_earlier_kernels();

    __shared__ ArgMax<float, int> argmax_shared[1024];
    __shared__ Max<float> max_shared[1024];
    ArgMax<float, int> argmax_acc[4];
    Max<float> max_acc[4];
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        argmax_acc[j] = ArgMax<float, int>::identity();
        max_acc[j] = Max<float>::identity();
    }
    if (live) {
        int e = first + down;
        for (; e + 48 < last; e += 64) {
            Pack<float, 4, 16> x_vec[4];
            #pragma unroll
            for (int u = 0; u < 4; ++u) {
                x_vec[u] = *reinterpret_cast<const Pack<float, 4, 16>*>(
                    x_column + (e + u * 16) * layout.x_step[0]);
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
                    x_column + (e + u * 16) * layout.x_step[0]);
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
                x_column + e * layout.x_step[0]);
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                argmax_columns_pass(x_vec.at[j], e, argmax_acc[j], max_acc[j]);
            }
        }
    }

    // Threads that share columns merge their states in shared memory; each thread merges one column at a time.
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
        argmax_shared[(down * 4 + j) * 16 + across] = argmax_acc[j];
        max_shared[(down * 4 + j) * 16 + across] = max_acc[j];
    }
    __syncthreads();
    #pragma unroll 1
    for (int n = 16; n > 1; n = (n + 7) / 8) {
        const int s = (n + 7) / 8;  // the first s states take in the other n - s
        for (int i = threadIdx.x; i < s * 64; i += 256) {
            ArgMax<float, int> argmax_merged = argmax_shared[i];
            Max<float> max_merged = max_shared[i];
            #pragma unroll
            for (int other = 1; other < 8; ++other) {
                if (i + other * s * 64 < n * 64) {
                    argmax_merged.merge(argmax_shared[i + other * s * 64]);
                    max_merged.merge(max_shared[i + other * s * 64]);
                }
            }
            argmax_shared[i] = argmax_merged;
            max_shared[i] = max_merged;
        }
        __syncthreads();
    }

    // The last block of these columns to arrive merges the partials of all, always in the same order.
    const unsigned int own_partials = (blockIdx.x * gridDim.y + blockIdx.y) * 64;
    if (threadIdx.x < 64) {
        argmax_block_partials[own_partials + threadIdx.x] = argmax_shared[threadIdx.x];
        max_block_partials[own_partials + threadIdx.x] = max_shared[threadIdx.x];
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
    auto argmax_whole = ArgMax<float, int>::identity();
    auto max_whole = Max<float>::identity();
    // Unrolled, so that several loads are in flight at once.
    #pragma unroll 8
    for (int b = threadIdx.x / 64; b < int(gridDim.y); b += 4) {
        const unsigned int other_partials = (blockIdx.x * gridDim.y + b) * 64 + threadIdx.x % 64;
        argmax_whole.merge(argmax_block_partials[other_partials]);
        max_whole.merge(max_block_partials[other_partials]);
    }
    argmax_shared[threadIdx.x] = argmax_whole;
    max_shared[threadIdx.x] = max_whole;
    __syncthreads();
    #pragma unroll 1
    for (int n = 4; n > 1; n = (n + 7) / 8) {
        const int s = (n + 7) / 8;  // the first s states take in the other n - s
        for (int i = threadIdx.x; i < s * 64; i += 256) {
            ArgMax<float, int> argmax_merged = argmax_shared[i];
            Max<float> max_merged = max_shared[i];
            #pragma unroll
            for (int other = 1; other < 8; ++other) {
                if (i + other * s * 64 < n * 64) {
                    argmax_merged.merge(argmax_shared[i + other * s * 64]);
                    max_merged.merge(max_shared[i + other * s * 64]);
                }
            }
            argmax_shared[i] = argmax_merged;
            max_shared[i] = max_merged;
        }
        __syncthreads();
    }

    if (down == 0 && live) {
        Pack<long long, 4, 16> at_vec;
        Pack<float, 4, 16> top_vec;
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            const long long argmax_v = argmax_shared[j * 16 + across].result();
            const float max_v = max_shared[j * 16 + across].result();
            // at = argmax(x, axis=-1)
            at_vec.at[j] = argmax_v;
            // top = max(x, axis=-1)
            top_vec.at[j] = max_v;
        }
        *reinterpret_cast<Pack<long long, 4, 16>*>(at_column) = at_vec;
        *reinterpret_cast<Pack<float, 4, 16>*>(top_column) = top_vec;
    }
    let_next_kernel_start();
}

}  // namespace kgen_argmax_columns
