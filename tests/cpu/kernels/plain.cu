// Kernels without barriers: threads run one after another, blocks on several OS threads.
extern "C" __global__ void atomics(int* i, unsigned* u, unsigned long long* l, float* f, double* d) {
  const int k = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  atomicAdd(&i[0], k);
  atomicSub(&i[1], 1);
  atomicMin(&i[2], -k);
  atomicMax(&i[3], k);
  atomicAdd(&u[0], 3u);
  atomicAnd(&u[1], ~(1u << (k & 31)));
  atomicOr(&u[2], 1u << (k & 15));
  atomicXor(&u[3], 5u);
  atomicInc(&u[4], 9u);
  atomicDec(&u[5], 6u);
  atomicAdd(&l[0], 1ull << 33);
  atomicMax(&l[1], (unsigned long long)k << 20);
  atomicAdd(&f[0], 0.5f);
  atomicAdd(&d[0], 0.25);
  for (int old = i[4], seen; (seen = atomicCAS(&i[4], old, old + 2)) != old; old = seen) {
  }
  atomicExch(&i[5], 77);
}

// Writes down the order in which threads come.
extern "C" __global__ void record(unsigned* next, unsigned* order) {
  order[atomicAdd(next, 1u)] = blockIdx.x * blockDim.x + threadIdx.y * blockDim.x / 2 + threadIdx.x;
}

extern "C" __global__ void index(unsigned* out) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const unsigned z = blockIdx.z * blockDim.z + threadIdx.z, w = gridDim.x * blockDim.x, h = gridDim.y * blockDim.y;
  out[(z * h + y) * w + x] = x + 100 * y + 10000 * z;
}

__constant__ float table[4] = {1.0f, 2.0f, 4.0f, 8.0f};
struct alignas(16) Big {
  float weight[300];
  int count;
};
extern "C" __global__ void
big_struct(float* out, const __grid_constant__ Big big, __grid_constant__ const float scale) {
#ifdef __CUDA_ARCH__
  asm volatile("nonsense");
#endif
#ifdef __CUDACC_RTC__
#error "not NVRTC"
#endif
  float s = 0.0f;
#pragma unroll 4
  for (int i = 0; i < big.count; i++) s += big.weight[i] * table[i & 3];
  out[threadIdx.x] = s * scale;
}

extern "C" __global__ void no_arguments() {}
