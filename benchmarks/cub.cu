// cub::DeviceTransform on the contiguous workloads of workloads.py, one function for each, named alike.
// Several outputs are written through a zip iterator, as CCCL 3.0 takes one output.
//
//     nvcc -O3 -std=c++17 -arch=native --extended-lambda -shared -Xcompiler -fPIC cub.cu -o cub.so
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cub/device/device_transform.cuh>
#include <cuda/functional>
#include <cuda/std/tuple>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/tuple.h>

template <class Out, class Op, class... In>
static int transform(int n, cudaStream_t stream, Out out, Op op, const In*... in) {
    // Copyable arguments let CUB bring its inputs to shared memory in bulk, its fastest way.
    return cub::DeviceTransform::Transform(
        cuda::std::make_tuple(in...), out, n, cuda::proclaim_copyable_arguments(op), stream);
}

template <class T>
static const T* in(const void* const* inputs, int i) {
    return static_cast<const T*>(inputs[i]);
}

template <class T>
static T* out(void* const* outputs, int i) {
    return static_cast<T*>(outputs[i]);
}

#define WORKLOAD(name) \
    extern "C" int name(const void* const* inputs, void* const* outputs, int n, cudaStream_t stream)

WORKLOAD(axpy_f32) {
    return transform(
        n, stream, out<float>(outputs, 0), [] __device__(float x, float y) { return 2.5f * x + y; },
        in<float>(inputs, 0), in<float>(inputs, 1));
}

WORKLOAD(chain_f32) {
    return transform(
        n, stream, out<float>(outputs, 0),
        [] __device__(float x, float y) {
            return 0.5f * x * (1.0f + erff(x * 0.70710678f)) * (1.0f / (1.0f + expf(-y))) + x;
        },
        in<float>(inputs, 0), in<float>(inputs, 1));
}

WORKLOAD(adam_f32) {
    auto outs = thrust::make_zip_iterator(out<float>(outputs, 0), out<float>(outputs, 1), out<float>(outputs, 2));
    return transform(
        n, stream, outs,
        [] __device__(float p, float m, float v, float g) {
            const float m2 = 0.9f * m + 0.1f * g;
            const float v2 = 0.999f * v + 0.001f * g * g;
            return thrust::make_tuple(m2, v2, p - 0.001f * m2 / (sqrtf(v2) + 1e-8f));
        },
        in<float>(inputs, 0), in<float>(inputs, 1), in<float>(inputs, 2), in<float>(inputs, 3));
}

WORKLOAD(sincos_2out) {
    auto outs = thrust::make_zip_iterator(out<float>(outputs, 0), out<float>(outputs, 1));
    return transform(
        n, stream, outs, [] __device__(float x) { return thrust::make_tuple(sinf(x), cosf(x)); }, in<float>(inputs, 0));
}

WORKLOAD(axpy_bf16) {
    return transform(
        n, stream, out<__nv_bfloat16>(outputs, 0),
        [] __device__(__nv_bfloat16 x, __nv_bfloat16 y) {
            return __float2bfloat16(2.5f * __bfloat162float(x) + __bfloat162float(y));
        },
        in<__nv_bfloat16>(inputs, 0), in<__nv_bfloat16>(inputs, 1));
}

WORKLOAD(swiglu_bf16) {
    return transform(
        n, stream, out<__nv_bfloat16>(outputs, 0),
        [] __device__(__nv_bfloat16 x, __nv_bfloat16 y) {
            const float gate = __bfloat162float(x);
            return __float2bfloat16(gate / (1.0f + expf(-gate)) * __bfloat162float(y));
        },
        in<__nv_bfloat16>(inputs, 0), in<__nv_bfloat16>(inputs, 1));
}

WORKLOAD(c64_mul) {
    return transform(
        n, stream, out<float2>(outputs, 0),
        [] __device__(float2 x, float2 y) {
            return make_float2(x.x * y.x - x.y * y.y + x.x, x.x * y.y + x.y * y.x + x.y);
        },
        in<float2>(inputs, 0), in<float2>(inputs, 1));
}

WORKLOAD(mixed) {
    return transform(
        n, stream, out<__half>(outputs, 0),
        [] __device__(__half x, __nv_bfloat16 y, float z) {
            return __float2half(__half2float(x) * __bfloat162float(y) + z);
        },
        in<__half>(inputs, 0), in<__nv_bfloat16>(inputs, 1), in<float>(inputs, 2));
}

WORKLOAD(u8_normalize) {
    return transform(
        n, stream, out<float>(outputs, 0),
        [] __device__(unsigned char x) { return (static_cast<float>(x) - 127.5f) * 0.0078f; },
        in<unsigned char>(inputs, 0));
}
