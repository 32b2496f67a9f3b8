// A shuffle of the full warp in a branch that half of the warp takes.
extern "C" __global__ void planted(float* out) {
  float v = (float)threadIdx.x;
  if (threadIdx.x & 1) {
    v += __shfl_xor_sync(0xffffffffu, v, 2);
  } else {
    __syncthreads();
  }
  out[threadIdx.x] = v;
}
