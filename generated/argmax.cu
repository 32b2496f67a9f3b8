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

// The state of the thread whose number differs by the bit `d`.
template <typename T, typename Place>
static __device__ __forceinline__ Found<T, Place> shuffled(const Found<T, Place>& a, int d)
{
    return {__shfl_xor_sync(0xffffffffu, a.value, d), __shfl_xor_sync(0xffffffffu, a.at, d)};
}

// Takes one element into argmax and max.
static __device__ __forceinline__ void
argmax_pass(const float x_v, const int place, Found<float, int>& argmax_acc, float& max_acc)
{
    // at = argmax(x, axis=-1)
    take_greatest(argmax_acc, x_v, place);
    // top = max(x, axis=-1)
    max_acc = nan_max(max_acc, x_v);
}

// Where the rows lie; strides and steps in elements.
struct argmax_rows_held1024_layout {
    long long at_stride[1];  // of at and top
    long long x_stride[1];
    int width;  // elements of a row
};

// Rows of up to 1024 elements, kept in registers: 2 rows a block, 32 threads a row.
// Launch: ceil(n / 2) blocks of 64 threads, for n rows.
// Limits: fewer than 2^31 rows, and every place within a row, in bytes, below 2^31.
// Alignment, in bytes: 16 for x.
// What moves by groups has rows, and strides between them, of multiples of 4 elements.
// No other operand may overlap at and top in memory.
extern "C" __global__ void __launch_bounds__(64)
argmax_rows_held1024(const float* __restrict__ x_ptr,
                     long long* __restrict__ at_ptr,
                     float* __restrict__ top_ptr,
                     const argmax_rows_held1024_layout layout,
                     const unsigned int n)
{
    const int lane = threadIdx.x % 32;
    const bool live = blockIdx.x * 2u + threadIdx.x / 32 < n;  // the last block may have fewer rows
    const unsigned int row = live ? blockIdx.x * 2u + threadIdx.x / 32 : 0;
    const int width = live ? layout.width : 0;
    const float* const x_row = x_ptr + row * layout.x_stride[0];

    Pack<float, 4, 16> x_vec[8];
    #pragma unroll
    for (int v = 0; v < 8; ++v) {
        const int i = 4 * (v * 32 + lane);
        if (i < width) {
            x_vec[v] = *reinterpret_cast<const Pack<float, 4, 16>*>(x_row + i);
        }
    }

    Found<float, int> argmax_acc = {__int_as_float(0xff800000 /* -inf */), 0};
    float max_acc = __int_as_float(0xff800000 /* -inf */);
    #pragma unroll
    for (int v = 0; v < 8; ++v) {
        const int i = 4 * (v * 32 + lane);
        if (i < width) {
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
                argmax_pass(x_vec[v].at[j], i + j, argmax_acc, max_acc);
            }
        }
    }
    #pragma unroll
    for (int d = 16; d > 0; d /= 2) {
        first_greatest(argmax_acc, shuffled(argmax_acc, d));
        max_acc = nan_max(max_acc, __shfl_xor_sync(0xffffffffu, max_acc, d));
    }
    const long long argmax_v = argmax_acc.at;
    const float max_v = max_acc;

    if (lane == 0 && live) {
        // at = argmax(x, axis=-1)
        at_ptr[row * layout.at_stride[0]] = argmax_v;
        // top = max(x, axis=-1)
        top_ptr[row * layout.at_stride[0]] = max_v;
    }
}
