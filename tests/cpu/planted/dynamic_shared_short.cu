// Launched with room for one float fewer than it uses.
extern "C" __global__ void planted(float* out) {
  extern __shared__ float row[];
  row[threadIdx.x] = (float)threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = row[blockDim.x - 1 - threadIdx.x];
}
