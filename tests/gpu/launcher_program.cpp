// On every device, the last one first: calls axpy's launcher from eight threads on streams of their own, then from a
// CUDA graph; checks every element.
// Arguments: the calls of each thread.

#include "axpy.h"

#include <cuda_runtime.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

static const int64_t N = 100003;

static void require(bool holds, const char* what)
{
    if (holds) return;
    std::printf("failed: %s\n", what);
    std::exit(1);
}

static float* on_device(float value)
{
    std::vector<float> values(N, value);
    void* found = nullptr;
    require(cudaMalloc(&found, N * sizeof(float)) == cudaSuccess, "cudaMalloc");
    require(cudaMemcpy(found, values.data(), N * sizeof(float), cudaMemcpyHostToDevice) == cudaSuccess, "cudaMemcpy");
    // cudaMemcpy returns once pageable memory is staged, and streams that do not block do not wait for it.
    require(cudaDeviceSynchronize() == cudaSuccess, "cudaDeviceSynchronize");
    return static_cast<float*>(found);
}

static bool all_are(const float* device, float value)
{
    std::vector<float> values(N);
    require(cudaMemcpy(values.data(), device, N * sizeof(float), cudaMemcpyDeviceToHost) == cudaSuccess, "cudaMemcpy");
    for (float v : values) {
        if (v != value) return false;
    }
    return true;
}

static int axpy(double s, float* a, float* b, float* out, cudaStream_t stream)
{
    const int64_t shape[] = {N};
    kgen_array arrays[] = {{a, 2, 0, 1, KGEN_FLOAT32, shape, nullptr, 0},
                           {b, 2, 0, 1, KGEN_FLOAT32, shape, nullptr, 0},
                           {out, 2, 0, 1, KGEN_FLOAT32, shape, nullptr, 0}};
    return axpy_launch(&arrays[0], &arrays[1], &arrays[2], s, nullptr, 0, stream);
}

// Adds 1 to an array as often as asked, between two arrays and back, on a stream of its own.
static void count(int device, int calls, std::atomic<int>* failures)
{
    cudaStream_t stream;
    if (cudaSetDevice(device) != cudaSuccess) ++*failures;
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) ++*failures;
    float *one = on_device(1), *from = on_device(0), *to = on_device(0);
    for (int i = 0; i < 2 * calls; ++i) {
        const int status = axpy(1.0, from, one, to, stream);
        if (status != KGEN_SUCCESS) std::printf("device %d: %s\n", device, axpy_error_string(status));
        failures->fetch_add(status != KGEN_SUCCESS);
        std::swap(from, to);
    }
    if (cudaStreamSynchronize(stream) != cudaSuccess || !all_are(from, 2.0f * calls)) {
        std::printf("device %d: wrong results\n", device);
        ++*failures;
    }
    for (float* p : {one, from, to}) cudaFree(p);
    cudaStreamDestroy(stream);
}

static void repeat_in_a_graph(int calls)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    require(cudaStreamCreate(&stream) == cudaSuccess, "cudaStreamCreate");
    float *one = on_device(1), *a = on_device(0), *b = on_device(0);
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess, "begin of a capture");
    require(axpy(1.0, a, one, b, stream) == KGEN_SUCCESS, "a call in a capture");
    require(axpy(1.0, b, one, a, stream) == KGEN_SUCCESS, "a second call in a capture");
    require(axpy(1.0, a, one, a, stream) % 256 == KGEN_OVERLAP, "a call that overlaps");
    require(cudaStreamEndCapture(stream, &graph) == cudaSuccess, "end of a capture");
    require(all_are(a, 0), "a capture launches nothing");
    require(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess, "cudaGraphInstantiate");
    for (int i = 0; i < calls; ++i) require(cudaGraphLaunch(executable, stream) == cudaSuccess, "cudaGraphLaunch");
    require(cudaStreamSynchronize(stream) == cudaSuccess, "the graph's kernels");
    require(all_are(a, 2.0f * calls), "results of the graph");
    for (float* p : {one, a, b}) cudaFree(p);
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
}

int main(int, char** arguments)
{
    const int calls = std::atoi(arguments[1]);
    int devices = 0;
    require(cudaGetDeviceCount(&devices) == cudaSuccess, "cudaGetDeviceCount");
    for (int device = devices - 1; device >= 0; --device) {
        std::atomic<int> failures{0};
        std::vector<std::thread> threads;
        for (int i = 0; i < 8; ++i) threads.emplace_back(count, device, calls, &failures);
        for (std::thread& thread : threads) thread.join();
        require(failures == 0, "calls from eight threads");
        require(cudaSetDevice(device) == cudaSuccess, "cudaSetDevice");
        repeat_in_a_graph(calls);
    }
    std::printf("%d devices\n", devices);
    return 0;
}
