// Made by kgen 0.1.0 from cosine.k. Do not edit; remake it with
//     kgen compile cosine.k -o cosine.cu --dtype a=f32,b=f32 --shape a=65536x256,b=65536x256
//
//     # The cosine of the angle between each row of a and the same row of b.
//     y = sum(a * b, axis=-1) / (norm(a, axis=-1) * norm(b, axis=-1))
//
// Inputs:  a: float32, b: float32
// Outputs: y: float32
//
// Chosen: rows: 16 threads share a row of 256 elements and keep it in registers, 16 elements each: one pass over memory.
// Chosen: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

namespace kgen_cosine {

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

// Accumulates one element into sum and norm.
static __device__ __forceinline__ void
cosine_pass(const float a_v,
            const float b_v,
            Sum<float>& sum_acc,
            Sum<float>& norm_acc,
            Sum<float>& norm_acc2)
{
    sum_acc.add(a_v * b_v);
    norm_acc.add_square(a_v);
    norm_acc2.add_square(b_v);
}

// Where the rows lie; strides and steps in elements.
struct cosine_reduce_regs256_layout {
    long long y_stride[1];
    long long a_stride[1];  // of a and b
    int width;  // elements of a row
};

// Rows of up to 256 elements, kept in registers: 4 rows a block, 16 threads a row.
// Launch: ceil(n / 4) blocks of 64 threads, for n rows.
// Limits: fewer than 2^31 rows, and every place within a row, in bytes, below 2^31.
// Alignment, in bytes: 16 for a and b.
// Vector accesses: row widths and row strides are multiples of 4 elements.
// No other operand may overlap y in memory.
extern "C" __global__ void __launch_bounds__(64)
cosine_reduce_regs256(const float* a_ptr,
                      const float* b_ptr,
                      float* __restrict__ y_ptr,
                      const cosine_reduce_regs256_layout layout,
                      const unsigned int n)
{
    const int thread = threadIdx.x % 16;
    const bool live = blockIdx.x * 4u + threadIdx.x / 16 < n;  // the last block may have fewer rows
    const unsigned int row = live ? blockIdx.x * 4u + threadIdx.x / 16 : 0;
    const int width = live ? layout.width : 0;
    const float* const a_row = a_ptr + row * layout.a_stride[0];
    const float* const b_row = b_ptr + row * layout.a_stride[0];
    wait_for_earlier_kernels();

    Pack<float, 4, 16> a_vec[4];
    Pack<float, 4, 16> b_vec[4];
    #pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = 4 * (v * 16 + thread);
        if (i < width) {
            a_vec[v] = *reinterpret_cast<const Pack<float, 4, 16>*>(a_row + i);
            b_vec[v] = *reinterpret_cast<const Pack<float, 4, 16>*>(b_row + i);
        }
    }

    auto sum_acc = Sum<float>::identity();
    auto norm_acc = Sum<float>::identity();
    auto norm_acc2 = Sum<float>::identity();
    #pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = 4 * (v * 16 + thread);
        if (i < width) {
            auto sum_part = Sum<float>::identity();
            auto norm_part = Sum<float>::identity();
            auto norm_acc2_part = Sum<float>::identity();
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                cosine_pass(a_vec[v].at[j], b_vec[v].at[j], sum_part, norm_part, norm_acc2_part);
            }
            sum_acc.merge(sum_part);
            norm_acc.merge(norm_part);
            norm_acc2.merge(norm_acc2_part);
        }
    }
    #pragma unroll
    for (int d = 8; d > 0; d /= 2) {
        sum_acc.merge(sum_acc.shuffle_xor(d));
        norm_acc.merge(norm_acc.shuffle_xor(d));
        norm_acc2.merge(norm_acc2.shuffle_xor(d));
    }
    const float sum_v = sum_acc.result();
    const float norm_v = norm_acc.norm();
    const float norm_v2 = norm_acc2.norm();

    if (thread == 0 && live) {
        y_ptr[row * layout.y_stride[0]] = sum_v / (norm_v * norm_v2);
    }
}

}  // namespace kgen_cosine
