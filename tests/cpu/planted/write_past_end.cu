// Off by one: the last thread writes past the array.
extern "C" __global__ void planted(float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) out[i] = 1.0f;
}
