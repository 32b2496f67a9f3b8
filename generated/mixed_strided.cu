// Made by kgen 0.1.0 from mixed.k. Do not edit; remake it with
//     kgen compile mixed.k -o mixed_strided.cu --dtype a=f32,b=f32,c=i64 --layout strided --rank 3 --name mixed_strided
//
//     # Mixed dtypes: each operand is read in its own dtype, and the arithmetic is in float32.
//     out = a * b + cast<float>(c)
//
// Inputs:  a: float32, b: float32, c: int64
// Outputs: out: float32
//
// Layout: strided, up to 3 dimensions after merging.
// Floating point: a*b+c may contract to one fma; compile with -fmad=true (the default).

namespace kgen_mixed_strided {

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

// One element: out = a * b + cast<float>(c)
static __device__ __forceinline__ void
mixed_strided_element(const float a_v, const float b_v, const long long c_v, float& out_v)
{
    out_v = a_v * b_v + (float)c_v;
}

// Where the operands lie: strides in elements along the only dimension.
struct mixed_strided_strided_1d_layout {
    int out_stride[1];
    int a_stride[1];
    int b_stride[1];
    int c_stride[1];
};

// 2 elements a thread, 128 apart, over 1 dimension: out, a, b and c at any strides.
// Launch: ceil(n / 256) blocks of 128 threads (a divisor of every SM's threads), for n < 2^31 elements.
// Limits: fewer than 2^31 elements, and every offset in bytes below 2^31.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(128)
mixed_strided_strided_1d(const float* a_ptr,
                         const float* b_ptr,
                         const long long* c_ptr,
                         float* __restrict__ out_ptr,
                         const mixed_strided_strided_1d_layout layout,
                         const unsigned int n)
{
    const unsigned int i = blockIdx.x * 256u + threadIdx.x;
    if (i >= n) {
        return;
    }
    wait_for_earlier_kernels();
    if (i + 128 < n) {  // all 2 elements of this thread: everything is read before anything is written
        int out_at_kept[2];
        float out_vec[2];
        #pragma unroll
        for (int j = 0; j < 2; ++j) {
            const unsigned int e = i + 128 * j;
            const int c0 = (int)(e);
            const int out_at = c0 * layout.out_stride[0];
            const int a_at = c0 * layout.a_stride[0];
            const int b_at = c0 * layout.b_stride[0];
            const int c_at = c0 * layout.c_stride[0];
            out_at_kept[j] = out_at;
            mixed_strided_element(a_ptr[a_at], b_ptr[b_at], c_ptr[c_at], out_vec[j]);
        }
        #pragma unroll
        for (int j = 0; j < 2; ++j) {
            out_ptr[out_at_kept[j]] = out_vec[j];
        }
    } else {
        #pragma unroll 1
        for (unsigned int e = i; e < n; e += 128) {
            const int c0 = (int)(e);
            const int out_at = c0 * layout.out_stride[0];
            const int a_at = c0 * layout.a_stride[0];
            const int b_at = c0 * layout.b_stride[0];
            const int c_at = c0 * layout.c_stride[0];
            mixed_strided_element(a_ptr[a_at], b_ptr[b_at], c_ptr[c_at], out_ptr[out_at]);
        }
    }
    let_next_kernel_start();
}

// Where the elements lie: 2 dimensions, the fastest first; strides in elements.
struct mixed_strided_strided_2d_layout {
    unsigned int extent[1];  // of all but the slowest dimension
    unsigned int magic[1];  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int shift[1];  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
    int out_stride[2];
    int a_stride[2];
    int b_stride[2];
    int c_stride[2];
};

// 2 elements a thread, 128 apart, over 2 dimensions: out, a, b and c at any strides.
// Launch: ceil(n / 256) blocks of 128 threads (a divisor of every SM's threads), for n < 2^31 elements.
// Limits: fewer than 2^31 elements, and every offset in bytes below 2^31.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(128)
mixed_strided_strided_2d(const float* a_ptr,
                         const float* b_ptr,
                         const long long* c_ptr,
                         float* __restrict__ out_ptr,
                         const mixed_strided_strided_2d_layout layout,
                         const unsigned int n)
{
    const unsigned int i = blockIdx.x * 256u + threadIdx.x;
    if (i >= n) {
        return;
    }
    wait_for_earlier_kernels();
    if (i + 128 < n) {  // all 2 elements of this thread: everything is read before anything is written
        int out_at_kept[2];
        float out_vec[2];
        #pragma unroll
        for (int j = 0; j < 2; ++j) {
            const unsigned int e = i + 128 * j;
            const unsigned int q0 = (__umulhi(e, layout.magic[0]) + e) >> layout.shift[0];
            const int c0 = (int)(e - q0 * layout.extent[0]);
            const int c1 = (int)q0;
            const int out_at = c0 * layout.out_stride[0] + c1 * layout.out_stride[1];
            const int a_at = c0 * layout.a_stride[0] + c1 * layout.a_stride[1];
            const int b_at = c0 * layout.b_stride[0] + c1 * layout.b_stride[1];
            const int c_at = c0 * layout.c_stride[0] + c1 * layout.c_stride[1];
            out_at_kept[j] = out_at;
            mixed_strided_element(a_ptr[a_at], b_ptr[b_at], c_ptr[c_at], out_vec[j]);
        }
        #pragma unroll
        for (int j = 0; j < 2; ++j) {
            out_ptr[out_at_kept[j]] = out_vec[j];
        }
    } else {
        #pragma unroll 1
        for (unsigned int e = i; e < n; e += 128) {
            const unsigned int q0 = (__umulhi(e, layout.magic[0]) + e) >> layout.shift[0];
            const int c0 = (int)(e - q0 * layout.extent[0]);
            const int c1 = (int)q0;
            const int out_at = c0 * layout.out_stride[0] + c1 * layout.out_stride[1];
            const int a_at = c0 * layout.a_stride[0] + c1 * layout.a_stride[1];
            const int b_at = c0 * layout.b_stride[0] + c1 * layout.b_stride[1];
            const int c_at = c0 * layout.c_stride[0] + c1 * layout.c_stride[1];
            mixed_strided_element(a_ptr[a_at], b_ptr[b_at], c_ptr[c_at], out_ptr[out_at]);
        }
    }
    let_next_kernel_start();
}

// Where the elements lie: 3 dimensions, the fastest first; strides in elements.
struct mixed_strided_strided_3d_layout {
    unsigned int extent[2];  // of all but the slowest dimension
    unsigned int magic[2];  // 2^32 * (2^shift - extent) / extent + 1, in integers
    unsigned int shift[2];  // ceil(log2(extent)); x / extent == (__umulhi(x, magic) + x) >> shift for x < 2^31
    int out_stride[3];
    int a_stride[3];
    int b_stride[3];
    int c_stride[3];
};

// 2 elements a thread, 128 apart, over 3 dimensions: out, a, b and c at any strides.
// Launch: ceil(n / 256) blocks of 128 threads (a divisor of every SM's threads), for n < 2^31 elements.
// Limits: fewer than 2^31 elements, and every offset in bytes below 2^31.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(128)
mixed_strided_strided_3d(const float* a_ptr,
                         const float* b_ptr,
                         const long long* c_ptr,
                         float* __restrict__ out_ptr,
                         const mixed_strided_strided_3d_layout layout,
                         const unsigned int n)
{
    const unsigned int i = blockIdx.x * 256u + threadIdx.x;
    if (i >= n) {
        return;
    }
    wait_for_earlier_kernels();
    if (i + 128 < n) {  // all 2 elements of this thread: everything is read before anything is written
        int out_at_kept[2];
        float out_vec[2];
        #pragma unroll
        for (int j = 0; j < 2; ++j) {
            const unsigned int e = i + 128 * j;
            const unsigned int q0 = (__umulhi(e, layout.magic[0]) + e) >> layout.shift[0];
            const int c0 = (int)(e - q0 * layout.extent[0]);
            const unsigned int q1 = (__umulhi(q0, layout.magic[1]) + q0) >> layout.shift[1];
            const int c1 = (int)(q0 - q1 * layout.extent[1]);
            const int c2 = (int)q1;
            const int out_at = c0 * layout.out_stride[0] + c1 * layout.out_stride[1]
                             + c2 * layout.out_stride[2];
            const int a_at = c0 * layout.a_stride[0] + c1 * layout.a_stride[1] + c2 * layout.a_stride[2];
            const int b_at = c0 * layout.b_stride[0] + c1 * layout.b_stride[1] + c2 * layout.b_stride[2];
            const int c_at = c0 * layout.c_stride[0] + c1 * layout.c_stride[1] + c2 * layout.c_stride[2];
            out_at_kept[j] = out_at;
            mixed_strided_element(a_ptr[a_at], b_ptr[b_at], c_ptr[c_at], out_vec[j]);
        }
        #pragma unroll
        for (int j = 0; j < 2; ++j) {
            out_ptr[out_at_kept[j]] = out_vec[j];
        }
    } else {
        #pragma unroll 1
        for (unsigned int e = i; e < n; e += 128) {
            const unsigned int q0 = (__umulhi(e, layout.magic[0]) + e) >> layout.shift[0];
            const int c0 = (int)(e - q0 * layout.extent[0]);
            const unsigned int q1 = (__umulhi(q0, layout.magic[1]) + q0) >> layout.shift[1];
            const int c1 = (int)(q0 - q1 * layout.extent[1]);
            const int c2 = (int)q1;
            const int out_at = c0 * layout.out_stride[0] + c1 * layout.out_stride[1]
                             + c2 * layout.out_stride[2];
            const int a_at = c0 * layout.a_stride[0] + c1 * layout.a_stride[1] + c2 * layout.a_stride[2];
            const int b_at = c0 * layout.b_stride[0] + c1 * layout.b_stride[1] + c2 * layout.b_stride[2];
            const int c_at = c0 * layout.c_stride[0] + c1 * layout.c_stride[1] + c2 * layout.c_stride[2];
            mixed_strided_element(a_ptr[a_at], b_ptr[b_at], c_ptr[c_at], out_ptr[out_at]);
        }
    }
    let_next_kernel_start();
}

// Where the elements lie: 3 dimensions, the fastest first; strides in elements.
struct mixed_strided_strided_3d_64bit_layout {
    long long extent[2];  // of all but the slowest dimension
    long long magic[2];  // 2^64 * (2^shift - extent) / extent + 1, in integers
    long long shift[2];  // ceil(log2(extent)); x / extent == (__umul64hi(x, magic) + x) >> shift for x < 2^63
    long long out_stride[3];
    long long a_stride[3];
    long long b_stride[3];
    long long c_stride[3];
};

// 2 elements a thread, 128 apart, over 3 dimensions: out, a, b and c at any strides. Indices are 64-bit.
// Launch: ceil(n / 256) blocks of 128 threads (a divisor of every SM's threads), for n elements.
// No other operand may overlap out in memory.
extern "C" __global__ void __launch_bounds__(128)
mixed_strided_strided_3d_64bit(const float* a_ptr,
                               const float* b_ptr,
                               const long long* c_ptr,
                               float* __restrict__ out_ptr,
                               const mixed_strided_strided_3d_64bit_layout layout,
                               const long long n)
{
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i >= n) {
        return;
    }
    wait_for_earlier_kernels();
    if (i + 128 < n) {  // all 2 elements of this thread: everything is read before anything is written
        long long out_at_kept[2];
        float out_vec[2];
        #pragma unroll
        for (int j = 0; j < 2; ++j) {
            const long long e = i + 128 * j;
            const unsigned long long q0 = (__umul64hi(e, layout.magic[0]) + e) >> layout.shift[0];
            const long long c0 = (long long)(e - q0 * layout.extent[0]);
            const unsigned long long q1 = (__umul64hi(q0, layout.magic[1]) + q0) >> layout.shift[1];
            const long long c1 = (long long)(q0 - q1 * layout.extent[1]);
            const long long c2 = (long long)q1;
            const long long out_at = c0 * layout.out_stride[0] + c1 * layout.out_stride[1]
                                   + c2 * layout.out_stride[2];
            const long long a_at = c0 * layout.a_stride[0] + c1 * layout.a_stride[1] + c2 * layout.a_stride[2];
            const long long b_at = c0 * layout.b_stride[0] + c1 * layout.b_stride[1] + c2 * layout.b_stride[2];
            const long long c_at = c0 * layout.c_stride[0] + c1 * layout.c_stride[1] + c2 * layout.c_stride[2];
            out_at_kept[j] = out_at;
            mixed_strided_element(a_ptr[a_at], b_ptr[b_at], c_ptr[c_at], out_vec[j]);
        }
        #pragma unroll
        for (int j = 0; j < 2; ++j) {
            out_ptr[out_at_kept[j]] = out_vec[j];
        }
    } else {
        #pragma unroll 1
        for (long long e = i; e < n; e += 128) {
            const unsigned long long q0 = (__umul64hi(e, layout.magic[0]) + e) >> layout.shift[0];
            const long long c0 = (long long)(e - q0 * layout.extent[0]);
            const unsigned long long q1 = (__umul64hi(q0, layout.magic[1]) + q0) >> layout.shift[1];
            const long long c1 = (long long)(q0 - q1 * layout.extent[1]);
            const long long c2 = (long long)q1;
            const long long out_at = c0 * layout.out_stride[0] + c1 * layout.out_stride[1]
                                   + c2 * layout.out_stride[2];
            const long long a_at = c0 * layout.a_stride[0] + c1 * layout.a_stride[1] + c2 * layout.a_stride[2];
            const long long b_at = c0 * layout.b_stride[0] + c1 * layout.b_stride[1] + c2 * layout.b_stride[2];
            const long long c_at = c0 * layout.c_stride[0] + c1 * layout.c_stride[1] + c2 * layout.c_stride[2];
            mixed_strided_element(a_ptr[a_at], b_ptr[b_at], c_ptr[c_at], out_ptr[out_at]);
        }
    }
    let_next_kernel_start();
}

}  // namespace kgen_mixed_strided
