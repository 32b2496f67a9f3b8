// The tile has 31 rows, the block 32.
extern "C" __global__ void planted(const float* in, float* out) {
  __shared__ float tile[31][33];
  tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.x * 32 + threadIdx.y] = tile[threadIdx.y][threadIdx.x];
}
