// Made by kgen 0.1.0 from argmax.k. Do not edit; remake it with
//     kgen compile argmax.k -o argmax.cu --dtype x=f32 --shape x=65536x1000
//
//     # The index and the value of each row's maximum.
//     at = argmax(x, axis=-1)
//     top = max(x, axis=-1)
//
// Inputs:  x: float32
// Outputs: at: int64, top: float32
//
// Chosen: rows: 32 threads share a row of 1000 elements and keep it in registers, 32 elements each: one pass over memory.
// Chosen: 32-bit indices: every place within a row, in bytes, is below 2^31.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

namespace kgen_argmax {

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
argmax_pass(const float x_v, const int place, ArgMax<float, int>& argmax_acc, Max<float>& max_acc)
{
    // at = argmax(x, axis=-1)
    argmax_acc.add(x_v, place);
    // top = max(x, axis=-1)
    max_acc.add(x_v);
}

// Where the rows lie; strides and steps in elements.
struct argmax_reduce_regs1024_layout {
    long long at_stride[1];  // of at and top
    long long x_stride[1];
    int width;  // elements of a row
};

// Rows of up to 1024 elements, kept in registers: 2 rows a block, 32 threads a row.
// Launch: ceil(n / 2) blocks of 64 threads, for n rows.
// Limits: fewer than 2^31 rows, and every place within a row, in bytes, below 2^31.
// Alignment, in bytes: 16 for x.
// Vector accesses: row widths and row strides are multiples of 4 elements.
// No other operand may overlap at and top in memory.
extern "C" __global__ void __launch_bounds__(64)
argmax_reduce_regs1024(const float* x_ptr,
                       long long* __restrict__ at_ptr,
                       float* __restrict__ top_ptr,
                       const argmax_reduce_regs1024_layout layout,
                       const unsigned int n)
{
    const int thread = threadIdx.x % 32;
    const bool live = blockIdx.x * 2u + threadIdx.x / 32 < n;  // the last block may have fewer rows
    const unsigned int row = live ? blockIdx.x * 2u + threadIdx.x / 32 : 0;
    const int width = live ? layout.width : 0;
    const float* const x_row = x_ptr + row * layout.x_stride[0];
    wait_for_earlier_kernels();

    Pack<float, 4, 16> x_vec[8];
    #pragma unroll
    for (int v = 0; v < 8; ++v) {
        const int i = 4 * (v * 32 + thread);
        if (i < width) {
            x_vec[v] = *reinterpret_cast<const Pack<float, 4, 16>*>(x_row + i);
        }
    }

    auto argmax_acc = ArgMax<float, int>::identity();
    auto max_acc = Max<float>::identity();
    #pragma unroll
    for (int v = 0; v < 8; ++v) {
        const int i = 4 * (v * 32 + thread);
        if (i < width) {
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                argmax_pass(x_vec[v].at[j], i + j, argmax_acc, max_acc);
            }
        }
    }
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        argmax_acc.merge(argmax_acc.shuffle_xor(d));
        max_acc.merge(max_acc.shuffle_xor(d));
    }
    const long long argmax_v = argmax_acc.result();
    const float max_v = max_acc.result();

    if (thread == 0 && live) {
        // at = argmax(x, axis=-1)
        at_ptr[row * layout.at_stride[0]] = argmax_v;
        // top = max(x, axis=-1)
        top_ptr[row * layout.at_stride[0]] = max_v;
    }
}

}  // namespace kgen_argmax
