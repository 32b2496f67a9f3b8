// The host's time of calls from C++: the program of axpy.cu, launched by the driver itself and by its launcher.

#include "axpy.cu"

#include <algorithm>
#include <chrono>

using LaunchKernel = int (*)(cudaFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                             cudaStream_t, void**, void**);

// Microseconds of one call: the least of several rounds, each of calls that fit the queue of launches.
template <typename Call>
static double microseconds(cudaStream_t stream, Call call)
{
    double least = 1e9;
    for (int round = 0; round < 40; ++round) {
        cudaStreamSynchronize(stream);
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < 500; ++i) call();
        const auto taken = std::chrono::steady_clock::now() - start;
        least = std::min(least, std::chrono::duration<double, std::micro>(taken).count() / 500);
    }
    return least;
}

// Times of cuLaunchKernel, of the launcher on contiguous arrays, and of the launcher on rows of 100 elements.
extern "C" int measure(float* x, float* y, float* out, cudaStream_t stream, double* found)
{
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult result;
    cudaFunction_t function;
    int status = cudaGetDriverEntryPointByVersion("cuLaunchKernel", &entry, 12000, cudaEnableDefault, &result);
    if (status == 0) status = cudaGetFuncBySymbol(&function, (const void*)kgen_axpy::axpy_contiguous);
    if (status != 0) return status;
    float a = 2.0f;
    unsigned int n = 2000;
    void* values[] = {&x, &y, &out, &a, &n};
    found[0] = microseconds(stream, [&] {
        ((LaunchKernel)entry)(function, (n + 1023) / 1024, 1, 1, 256, 1, 1, 0, stream, values, nullptr);
    });
    const int64_t flat[] = {n}, rows[] = {20, 100}, strides[] = {200, 1};
    kgen_array arrays[] = {{x, 2, 0, 1, KGEN_FLOAT32, flat, nullptr, 0},
                           {y, 2, 0, 1, KGEN_FLOAT32, flat, nullptr, 0},
                           {out, 2, 0, 1, KGEN_FLOAT32, flat, nullptr, 0}};
    const auto call = [&] { status |= axpy_launch(&arrays[0], &arrays[1], &arrays[2], 2.0, nullptr, 0, stream); };
    found[1] = microseconds(stream, call);
    for (kgen_array& array : arrays) {
        array.ndim = 2;
        array.shape = rows;
        array.strides = strides;
    }
    found[2] = microseconds(stream, call);
    return status;
}
