// Reads its neighbour's element of an array that it overwrites: the answer depends on the order.
extern "C" __global__ void planted(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + 1 < n) x[i] = x[i + 1] + 1.0f;
}
