// A shift by the width of the type.
extern "C" __global__ void planted(unsigned* out) { out[threadIdx.x] = 1u << (threadIdx.x + 1); }
