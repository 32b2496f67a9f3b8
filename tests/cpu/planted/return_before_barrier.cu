// Threads past the end return before a barrier that the others reach: undefined in CUDA, an error in strict mode.
extern "C" __global__ void planted(float* out, int n) {
  if ((int)threadIdx.x >= n) return;
  __syncthreads();
  out[threadIdx.x] = 1.0f;
}
