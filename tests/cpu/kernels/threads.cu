// Barriers, warp operations, atomics and orders, each written so that a test can name the right answer.
extern "C" __global__ void barrier_votes(const int* in, int* any, int* all, int* count) {
  const int v = in[threadIdx.x];
  const int a = __syncthreads_or(v > 90), b = __syncthreads_and(v > 3), c = __syncthreads_count(v > 50);
  any[threadIdx.x] = a;
  all[threadIdx.x] = b;
  count[threadIdx.x] = c;
}

extern "C" __global__ void shuffles(const double* in, double* out) {
  const int i = threadIdx.x, n = blockDim.x;
  const double v = in[i];
  out[0 * n + i] = __shfl_sync(~0u, v, i * 7);
  out[1 * n + i] = __shfl_sync(~0u, v, 3, 8);
  out[2 * n + i] = __shfl_up_sync(~0u, v, 3);
  out[3 * n + i] = __shfl_down_sync(~0u, v, 5, 16);
  out[4 * n + i] = __shfl_xor_sync(~0u, v, 9);
  out[5 * n + i] = __shfl_xor_sync(~0u, v, 12, 8);
}

extern "C" __global__ void votes(const int* in, unsigned* out) {
  const int i = threadIdx.x, n = blockDim.x, v = in[i];
  out[0 * n + i] = __ballot_sync(~0u, v > 50);
  out[1 * n + i] = __any_sync(~0u, v > 95);
  out[2 * n + i] = __all_sync(~0u, v >= 0);
  out[3 * n + i] = __match_any_sync(~0u, v % 5);
  int same;
  out[4 * n + i] = __match_all_sync(~0u, v, &same);
  out[5 * n + i] = same;
  out[6 * n + i] = __reduce_add_sync(~0u, (unsigned)v);
  out[7 * n + i] = __reduce_max_sync(~0u, (unsigned)v);
  out[8 * n + i] = __reduce_xor_sync(~0u, (unsigned)v);
  out[9 * n + i] = (unsigned)__reduce_min_sync(~0u, v - 50);
}

// Halves of a warp, each with its own mask, in different branches.
extern "C" __global__ void partial_masks(const int* in, int* out) {
  const int i = threadIdx.x;
  int v = in[i];
  if (i & 1) {
    for (int k = 0; k < 2; k++) v += __shfl_xor_sync(0xaaaaaaaau, v, 2 << k);
  } else {
    v += __shfl_xor_sync(0x55555555u, v, 4);
  }
  __syncwarp();
  out[i] = v;
}

// Threads that return early are no longer waited for.
extern "C" __global__ void early_return(const int* in, int* out, int n) {
  if ((int)threadIdx.x >= n) return;
  __shared__ int held[256];
  held[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = held[n - 1 - threadIdx.x] + (int)__popc(__activemask());
}

extern "C" __global__ void grid_of_three(int* out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z * blockDim.z + threadIdx.z, w = gridDim.x * blockDim.x, h = gridDim.y * blockDim.y;
  __syncthreads();
  out[(z * h + y) * w + x] = x + 100 * y + 10000 * z;
}

// A grid barrier of the kind that kgen writes: an atomic counter, for cooperative launches only.
extern "C" __global__ void grid_barrier(volatile int* turn, int* left, int* right) {
  left[blockIdx.x] = (int)blockIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd((int*)turn, 1);
    while (*turn < (int)gridDim.x) __nanosleep(20);
    __threadfence();
  }
  __syncthreads();
  if (threadIdx.x == 0) right[blockIdx.x] = left[gridDim.x - 1 - blockIdx.x];
}

// A thread that waits for another one of its block.
extern "C" __global__ void spin_in_block(volatile int* flag, int* out) {
  if (threadIdx.x == 0) {
    while (!*flag) __nanosleep(10);
    *out = *flag;
  } else if (threadIdx.x == 63) {
    *flag = 42;
  }
}
