// Softmax of the rows of a matrix, by the target `softmax`, and swiglu of two matrices, by the target `activations`.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <vector>

#include "activations.h"
#include "softmax.h"

static float* on_device(const std::vector<float>& values)
{
    float* memory = nullptr;
    cudaMalloc(&memory, values.size() * sizeof(float));
    cudaMemcpy(memory, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice);
    return memory;
}

int main()
{
    if (const cudaError_t status = cudaFree(nullptr)) return std::printf("%s\n", cudaGetErrorString(status)), 2;
    const int64_t rows = 100, columns = 1000, shape[] = {rows, columns};
    std::vector<float> x(rows * columns), y(rows * columns);
    for (size_t i = 0; i < x.size(); ++i) x[i] = float(i % 17) - 8;
    float *x_memory = on_device(x), *y_memory = on_device(y);
    const kgen_array x_array = {x_memory, 2, 0, 2, KGEN_FLOAT32, shape, nullptr, 0};
    const kgen_array y_array = {y_memory, 2, 0, 2, KGEN_FLOAT32, shape, nullptr, 0};

    int status = softmax_launch(&x_array, &y_array, nullptr, 0, nullptr);
    if (status != KGEN_SUCCESS) return std::printf("softmax: %s\n", softmax_error_string(status)), 1;
    cudaMemcpy(y.data(), y_memory, y.size() * sizeof(float), cudaMemcpyDeviceToHost);
    double worst = 0;
    for (int64_t row = 0; row < rows; ++row) {
        double sum = 0;
        for (int64_t i = 0; i < columns; ++i) sum += y[row * columns + i];
        worst = std::fmax(worst, std::fabs(sum - 1));
    }
    std::printf("rows of softmax sum to 1 within %.1e\n", worst);

    status = swiglu_launch(&x_array, &x_array, &y_array, 1.0, nullptr, 0, nullptr);
    if (status != KGEN_SUCCESS) return std::printf("swiglu: %s\n", swiglu_error_string(status)), 1;
    cudaMemcpy(y.data(), y_memory, y.size() * sizeof(float), cudaMemcpyDeviceToHost);
    for (size_t i = 0; i < x.size(); ++i) {
        const double wanted = x[i] / (1 + std::exp(-double(x[i]))) * x[i];
        worst = std::fmax(worst, std::fabs(y[i] - wanted) / std::fmax(1.0, std::fabs(wanted)));
    }
    std::printf("swiglu is right within %.1e\n", worst);
    for (float* memory : {x_memory, y_memory}) cudaFree(memory);
    return worst < 1e-5 ? 0 : 1;
}
