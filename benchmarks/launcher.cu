// The host's time of calls from C++: the program of axpy.cu, launched by the driver itself and by its launcher.

#include "axpy.cu"

#include <algorithm>
#include <chrono>

using LaunchKernel = int (*)(cudaFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                             cudaStream_t, void**, void**);

// Microseconds of one call, of as many as fit the queue of launches.
template <typename Call>
static double microseconds(cudaStream_t stream, Call call)
{
    cudaStreamSynchronize(stream);
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 500; ++i) call();
    const auto taken = std::chrono::steady_clock::now() - start;
    return std::chrono::duration<double, std::micro>(taken).count() / 500;
}

// Times of cuLaunchKernel, of the launcher on contiguous arrays, and of the launcher on rows of 100 elements: the least
// of several rounds, which alternate, so that changes of the clock affect all three.
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
    const int64_t flat[] = {n}, rows[] = {20, 100}, strides[] = {200, 1};
    const kgen_array contiguous[] = {{x, 2, 0, 1, KGEN_FLOAT32, flat, nullptr, 0},
                                     {y, 2, 0, 1, KGEN_FLOAT32, flat, nullptr, 0},
                                     {out, 2, 0, 1, KGEN_FLOAT32, flat, nullptr, 0}};
    const kgen_array strided[] = {{x, 2, 0, 2, KGEN_FLOAT32, rows, strides, 0},
                                  {y, 2, 0, 2, KGEN_FLOAT32, rows, strides, 0},
                                  {out, 2, 0, 2, KGEN_FLOAT32, rows, strides, 0}};
    const auto bare = [&] {
        ((LaunchKernel)entry)(function, (n + 1023) / 1024, 1, 1, 256, 1, 1, 0, stream, values, nullptr);
    };
    const auto launch = [&](const kgen_array* a) { status |= axpy_launch(a, a + 1, a + 2, 2.0, nullptr, 0, stream); };
    found[0] = found[1] = found[2] = 1e9;
    for (int round = 0; round < 100; ++round) {
        found[0] = std::min(found[0], microseconds(stream, bare));
        found[1] = std::min(found[1], microseconds(stream, [&] { launch(contiguous); }));
        found[2] = std::min(found[2], microseconds(stream, [&] { launch(strided); }));
    }
    return status;
}
