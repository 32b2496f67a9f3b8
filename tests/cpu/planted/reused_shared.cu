// The second use of `part` may overwrite the first before all have read it.
extern "C" __global__ void planted(float* out) {
  __shared__ float part[2];
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = 1.0f;
  __syncthreads();
  const float sum = part[0] + part[1];
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = sum;
  __syncthreads();
  out[threadIdx.x] = part[0] + part[1];
}
