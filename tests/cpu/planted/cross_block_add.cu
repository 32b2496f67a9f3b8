// Blocks add to one number without an atomic.
extern "C" __global__ void planted(float* out) {
  if (threadIdx.x == 0) *out += 1.0f;
}
