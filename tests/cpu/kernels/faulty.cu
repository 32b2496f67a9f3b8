// Kernels that fail, each in its way, and one that does not.
extern "C" __global__ void null_pointer(int* out) { out[threadIdx.x] = 1; }
extern "C" __global__ void divide(int* out, int by) { out[threadIdx.x] = 7 / by; }
extern "C" __global__ void trap(int* out) {
  if (blockIdx.x == 1) __trap();
}
extern "C" __global__ void fine(int* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = 5; }
