// Made by kgen 0.1.0 from mse.k. Do not edit; remake it with
//     kgen compile mse.k -o mse.cu --dtype predicted=f32,target=f32 --shape predicted=16384x16384,target=16384x16384
//
//     # Mean squared error over everything: one number, in one launch.
//     let d = predicted - target
//     loss = mean(d * d)
//
// Inputs:  predicted: float32, target: float32
// Outputs: loss: float32
//
// Chosen: rows: 256 threads share a row and walk it once.
// Chosen: split: too few rows to keep a device busy, so several blocks share each; the last one merges their results.
// Chosen: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

namespace kgen_mse {

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

// A sum with the accumulated rounding errors (Kahan-Babuska), for a thread that adds up a long row.
template <typename T>
struct CompensatedSum {
    T sum, rest;

    static __device__ __forceinline__ CompensatedSum identity() { return {0, 0}; }

    __device__ __forceinline__ void merge(const Sum<T>& part)
    {
        const T total = sum + part.sum, gained = total - sum;
        rest += (sum - (total - gained)) + (part.sum - gained);
        sum = total;
    }

    __device__ __forceinline__ Sum<T> total() const { return {isfinite(sum) ? sum + rest : sum}; }
};

// Accumulates one element into mean.
static __device__ __forceinline__ void
mse_pass(const float predicted_v, const float target_v, Sum<float>& mean_acc)
{
    // let d = predicted - target
    const float d_v = predicted_v - target_v;
    // loss = mean(d * d)
    mean_acc.add(d_v * d_v);
}

// Where the rows lie; strides and steps in elements.
struct mse_reduce_long_split_layout {
    int width;  // elements of a row
    int span;  // elements of a row that a block takes
};

// Rows of any length, each shared by several blocks: 256 threads a row and block.
// Launch: (rows, ceil(width / span)) blocks of 256 threads; `span`: any multiple of 4.
// Memory: rows * gridDim.y of each `*_block_partials`; `arrived` counts for each row, 0 before and after.
// Limits: fewer than 2^31 rows, and every place within a row, in bytes, below 2^31 - 2^16.
// Alignment, in bytes: 16 for predicted and target.
// Vector accesses: row widths and row strides are multiples of 4 elements.
// No other operand may overlap loss in memory.
extern "C" __global__ void __launch_bounds__(256)
mse_reduce_long_split(const float* predicted_ptr,
                      const float* target_ptr,
                      float* __restrict__ loss_ptr,
                      Sum<float>* mean_block_partials,
                      unsigned int* arrived,
                      const mse_reduce_long_split_layout layout)
{
    const int thread = threadIdx.x;
    const unsigned int row = blockIdx.x;
    const int first = blockIdx.y * layout.span;  // where this block's span begins
    const int last = first + min(layout.span, layout.width - first);
    wait_for_earlier_kernels();

    __shared__ Sum<float> mean_warp_partials[8];
    auto mean_sum = CompensatedSum<float>::identity();
    #pragma unroll 4
    for (int i = first + 4 * thread; i < last; i += 1024) {
        const auto predicted_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(predicted_ptr + i);
        const auto target_vec = *reinterpret_cast<const Pack<float, 4, 16>*>(target_ptr + i);
        auto mean_part = Sum<float>::identity();
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
            mse_pass(predicted_vec.at[j], target_vec.at[j], mean_part);
        }
        mean_sum.merge(mean_part);
    }
    auto mean_acc = mean_sum.total();
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        mean_acc.merge(mean_acc.shuffle_xor(d));
    }
    if (threadIdx.x % 32 == 0) {
        mean_warp_partials[threadIdx.x / 32] = mean_acc;
    }
    __syncthreads();
    mean_acc = mean_warp_partials[threadIdx.x % 8];
    #pragma unroll
    for (int d = 4; d > 0; d /= 2) {
        mean_acc.merge(mean_acc.shuffle_xor(d));
    }

    // The last block of this row to arrive merges the partials of all, always in the same order.
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        mean_block_partials[row * gridDim.y + blockIdx.y] = mean_acc;
        __threadfence();  // release: this block's partials are visible before its arrival
        is_last = atomicInc(&arrived[row], gridDim.y - 1) == gridDim.y - 1;
        __threadfence();  // acquire: the last block sees all partials
    }
    __syncthreads();
    if (!is_last) {
        return;
    }
    mean_acc = Sum<float>::identity();
    for (unsigned int b = thread; b < gridDim.y; b += 256) {
        mean_acc.merge(mean_block_partials[row * gridDim.y + b]);
    }
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        mean_acc.merge(mean_acc.shuffle_xor(d));
    }
    if (threadIdx.x % 32 == 0) {
        mean_warp_partials[threadIdx.x / 32] = mean_acc;
    }
    __syncthreads();
    mean_acc = mean_warp_partials[threadIdx.x % 8];
    #pragma unroll
    for (int d = 4; d > 0; d /= 2) {
        mean_acc.merge(mean_acc.shuffle_xor(d));
    }
    const float mean_v = mean_acc.mean(layout.width);

    if (thread == 0) {
        // loss = mean(d * d)
        loss_ptr[0] = mean_v;
    }
    let_next_kernel_start();
}

}  // namespace kgen_mse
