// The same with barriers.
extern "C" __global__ void null_pointer(int* out) {
  __syncthreads();
  if (threadIdx.x == 33) out[threadIdx.x] = 1;
  __syncthreads();
}
extern "C" __global__ void trap(int* out) {
  __syncthreads();
  if (blockIdx.x == 1) __trap();
}
static __device__ __noinline__ int deep(int n, volatile int* out) {
  volatile int room[64];
  room[n & 63] = n;
  return n == 0 ? *out : deep(n - 1, out) + room[n & 63];
}
extern "C" __global__ void overflow(int* out) {
  __syncthreads();
  out[threadIdx.x] = deep(1000000, out);
}
extern "C" __global__ void deadlock(int* out) {
  if (threadIdx.x == 0) {
    __syncwarp();
  } else {
    __syncthreads();
  }
}
// One block never comes to the barrier of the grid.
extern "C" __global__ void deserter(volatile int* turn) {
  if (blockIdx.x == 0) __trap();
  if (threadIdx.x == 0) {
    atomicAdd((int*)turn, 1);
    while (*turn < (int)gridDim.x) __nanosleep(20);
  }
  __syncthreads();
}
extern "C" __global__ void fine(int* out) {
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = 5;
}
