// The sum starts from shared memory that nobody has set.
extern "C" __global__ void planted(float* out) {
  extern __shared__ float sum[];
  __syncthreads();
  atomicAdd(&sum[0], 1.0f);
  __syncthreads();
  out[threadIdx.x] = sum[0];
}
