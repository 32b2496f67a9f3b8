// KGEN_KERNEL(name): a C function through which Python launches the kernel of that name.
//
// A template on the kernel's type unpacks cuLaunchKernel's void* array, so no glue is generated per signature.
#pragma once

namespace kgen {

template <size_t... Is>
struct Indices {};
template <size_t N, size_t... Is>
struct MakeIndices : MakeIndices<N - 1, N - 1, Is...> {};
template <size_t... Is>
struct MakeIndices<0, Is...> {
  typedef Indices<Is...> type;
};

template <class T>
struct WithoutConst {
  typedef T type;
};
template <class T>
struct WithoutConst<const T> {
  typedef T type;
};

template <class Kernel>
struct Call;
template <class... Args>
struct Call<void (*)(Args...)> {
  template <auto kernel, size_t... Is>
  static __forceinline__ void unpack(void** params, Indices<Is...>) {
    (void)params;
    kernel(*(typename WithoutConst<Args>::type*)params[Is]...);
  }
  template <auto kernel>
  static __forceinline__ void call(void** params) {
    unpack<kernel>(params, typename MakeIndices<sizeof...(Args)>::type{});
  }
};

#if KGEN_FIBERS

template <auto kernel>
void run_thread(void** params) {
  Call<decltype(kernel)>::template call<kernel>(params);
}

#define KGEN_HOW_TO_RUN(NAME) &kgen::run_thread<&NAME>, nullptr

#else

template <auto kernel>
void run_blocks(void** params, uint64_t first, uint64_t last, const uint3* grid, const uint3* block,
                unsigned char* shared, const unsigned* order) {
  gridDim = *grid;
  blockDim = *block;
  kgen_shared = shared;
  // In order, a run is a row of threads; in a given order, each thread is a run of its own.
  const unsigned width = block->x, length = order ? 1 : width;
  const unsigned runs = block->x * block->y * block->z / length;
  for (uint64_t index = first; index < last; index++) {
    uint64_t row = index / grid->x;
    blockIdx.x = (unsigned)(index - row * grid->x);
    blockIdx.y = (unsigned)(row % grid->y);
    blockIdx.z = (unsigned)(row / grid->y);
    for (unsigned run = 0; run < runs; run++) {
      const unsigned thread = order ? order[run] : run * width, x = thread % width;
      threadIdx.y = thread / width % block->y;
      threadIdx.z = thread / width / block->y;
      for (unsigned i = 0; i < length; i++) {
        threadIdx.x = x + i;
        Call<decltype(kernel)>::template call<kernel>(params);
      }
    }
  }
}

#define KGEN_HOW_TO_RUN(NAME) nullptr, &kgen::run_blocks<&NAME>

#endif

}  // namespace kgen

#define KGEN_KERNEL(NAME)                                                                                        \
  KGEN_EXPORTED char* kgen_launch_##NAME(uint64_t grid_x, uint64_t grid_y, uint64_t grid_z, uint64_t block_x,    \
                                         uint64_t block_y, uint64_t block_z, uint64_t cluster_x,                 \
                                         uint64_t cluster_y, uint64_t cluster_z, uint64_t shared, void** params, \
                                         unsigned workers, unsigned cooperative) {                               \
    static const KgenKernel kernel = {#NAME, KGEN_HOW_TO_RUN(NAME)};                                             \
    const KgenLaunch launch = {{grid_x, grid_y, grid_z},                                                         \
                               {block_x, block_y, block_z},                                                      \
                               {cluster_x, cluster_y, cluster_z},                                                \
                               shared,                                                                           \
                               params,                                                                           \
                               workers,                                                                          \
                               cooperative};                                                                     \
    return kgen_launch(&kernel, &launch);                                                                        \
  }
