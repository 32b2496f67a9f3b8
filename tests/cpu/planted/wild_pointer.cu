// A pointer far outside of every mapping.
extern "C" __global__ void planted(float* out, long long far) { out[far * (threadIdx.x + 1)] = 1.0f; }
