// The vector count is rounded up: the last vector sticks out.
struct alignas(16) Vector {
  float v[4];
};
extern "C" __global__ void planted(float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < (n + 3) / 4) reinterpret_cast<Vector*>(out)[i] = Vector{{1.0f, 2.0f, 3.0f, 4.0f}};
}
