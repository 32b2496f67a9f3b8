// Lanes 16 to 31 call with a mask that leaves them out.
extern "C" __global__ void planted(float* out) {
  out[threadIdx.x] = __shfl_sync(0x0000ffffu, (float)threadIdx.x, 0);
}
