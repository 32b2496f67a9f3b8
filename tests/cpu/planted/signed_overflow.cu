// The index is computed in int and wraps before it is widened.
extern "C" __global__ void planted(long long* out, int stride) { out[threadIdx.x] = (int)threadIdx.x * stride; }
