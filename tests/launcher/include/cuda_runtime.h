// A CUDA runtime for the CPU target, as far as launchers use it: kernels run at once, and each launch is recorded.
#pragma once

#if KGEN_FIBERS  // where kernels call them by name, these are macros; launchers name members of a struct so
#undef gridDim
#undef blockDim
#endif

typedef struct CUstream_st* cudaStream_t;
enum cudaError_t { cudaSuccess = 0, cudaErrorLaunchFailure = 719 };
enum cudaLaunchAttributeID { cudaLaunchAttributeClusterDimension, cudaLaunchAttributeProgrammaticStreamSerialization };
enum cudaMemcpyKind { cudaMemcpyDeviceToDevice = 3 };
enum cudaDeviceAttr { cudaDevAttrComputeCapabilityMajor };

struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  union {
    int programmaticStreamSerializationAllowed;
    struct {
      unsigned x, y, z;
    } clusterDim;
  } val;
};

struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};

// What the last launches were: kernels, and blocks along x and y.  Kernels run unless they are only recorded.
struct Launched {
  const void* kernel;
  unsigned x, y, threads;
};
KGEN_EXPORTED Launched launched[16];
KGEN_EXPORTED int launches, only_records;
Launched launched[16];
int launches, only_records;

static inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

static inline cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = 9;
  return cudaSuccess;
}

static inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t) {
  if (!only_records) memcpy(to, from, bytes);
  return cudaSuccess;
}

static inline const char* cudaGetErrorString(cudaError_t) { return "an error of CUDA"; }

template <class... Parameters>
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, void (*)(Parameters...), const cudaLaunchConfig_t*) {
  *clusters = 16;
  return cudaSuccess;
}

namespace stub {

template <class... Parameters, size_t... Is>
void call(void** params, kgen::Indices<Is...>) {
  const auto kernel = reinterpret_cast<void (*)(Parameters...)>(params[0]);
  kernel(*(typename kgen::WithoutConst<Parameters>::type*)params[Is + 1]...);
}

// One CUDA thread, whose kernel is the first of its parameters.
template <class... Parameters>
void run_thread(void** params) {
  call<Parameters...>(params, typename kgen::MakeIndices<sizeof...(Parameters)>::type{});
}

#if !KGEN_FIBERS
template <class... Parameters>
void run_blocks(void** params, uint64_t first, uint64_t last, const uint3* grid, const uint3* block,
                unsigned char* shared, const unsigned*) {
  gridDim = *grid;
  blockDim = *block;
  kgen_shared = shared;
  for (uint64_t index = first; index < last; index++) {
    blockIdx.x = (unsigned)(index % grid->x);
    blockIdx.y = (unsigned)(index / grid->x);
    blockIdx.z = 0;
    for (unsigned i = 0; i < block->x; i++) {
      threadIdx.x = i;
      threadIdx.y = threadIdx.z = 0;
      run_thread<Parameters...>(params);
    }
  }
}
#endif

}  // namespace stub

// Static, as is what it declares: libraries of one process would share that.
template <class... Parameters, class... Values>
static cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...), Values&&... values) {
  launched[launches++ % 16] = {(const void*)kernel, config->gridDim.x, config->gridDim.y, config->blockDim.x};
  if (only_records) return cudaSuccess;
  const auto run = [&](typename kgen::WithoutConst<Parameters>::type... arguments) {
    void* params[] = {(void*)kernel, (void*)&arguments...};
#if KGEN_FIBERS
    static const KgenKernel launchable = {"launched", &stub::run_thread<Parameters...>, nullptr};
#else
    static const KgenKernel launchable = {"launched", nullptr, &stub::run_blocks<Parameters...>};
#endif
    const KgenLaunch launch = {{config->gridDim.x, config->gridDim.y, 1},
                               {config->blockDim.x, 1, 1},
                               {1, 1, 1},
                               0,
                               params,
                               0,
                               0};
    return kgen_launch(&launchable, &launch);
  };
  return run(values...) ? cudaErrorLaunchFailure : cudaSuccess;
}
