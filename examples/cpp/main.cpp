// Calls axpy.k on a matrix and on every second column of it, in float32 and float16.  Its param is float32, and so is
// what it gives.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "kernels.h"

template <typename T>
static T* on_device(const std::vector<T>& values)
{
    T* memory = nullptr;
    cudaMalloc(&memory, values.size() * sizeof(T));
    cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
    return memory;
}

// The number of wrong elements of out = 3 * x + y, for `columns` columns that are `step` apart.
template <typename T>
static int wrong(kgen_dtype dtype, int64_t rows, int64_t columns, int64_t step)
{
    const int64_t width = columns * step;
    std::vector<T> x(rows * width), y(rows * width);
    std::vector<float> out(rows * width);
    for (size_t i = 0; i < x.size(); ++i) x[i] = T(float(i % 100)), y[i] = T(float(i % 7));
    T *x_memory = on_device(x), *y_memory = on_device(y);
    float* out_memory = on_device(out);

    const int64_t shape[] = {rows, columns}, strides[] = {width, step};
    const kgen_array x_array = {x_memory, 2, 0, 2, dtype, shape, strides, 0};
    const kgen_array y_array = {y_memory, 2, 0, 2, dtype, shape, strides, 0};
    const kgen_array out_array = {out_memory, 2, 0, 2, KGEN_FLOAT32, shape, strides, 0};
    const int status = axpy_launch(&x_array, &y_array, &out_array, 3.0, nullptr, 0, nullptr);
    if (status != KGEN_SUCCESS) std::printf("axpy: %s\n", axpy_error_string(status));

    cudaMemcpy(out.data(), out_memory, out.size() * sizeof(float), cudaMemcpyDeviceToHost);
    for (void* memory : {(void*)x_memory, (void*)y_memory, (void*)out_memory}) cudaFree(memory);
    int found = status != KGEN_SUCCESS;
    for (int64_t i = 0; i < rows * width; ++i) {
        const float wanted = i % step == 0 ? 3.0f * float(x[i]) + float(y[i]) : 0.0f;
        found += out[i] != wanted;
    }
    return found;
}

int main()
{
    if (const cudaError_t status = cudaFree(nullptr)) return std::printf("%s\n", cudaGetErrorString(status)), 2;
    const int found = wrong<float>(KGEN_FLOAT32, 1000, 512, 1) + wrong<float>(KGEN_FLOAT32, 1000, 333, 2) +
                      wrong<__half>(KGEN_FLOAT16, 1000, 512, 1) + wrong<__half>(KGEN_FLOAT16, 1000, 333, 2);
    std::printf("%d wrong elements\n", found);
    return found == 0 ? 0 : 1;
}
