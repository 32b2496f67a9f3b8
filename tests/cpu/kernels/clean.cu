// Correct kernels of the shapes that kgen generates; every order, mode and sanitizer must pass them.
template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
  T v[N];
};
static_assert(sizeof(Pack<float, 4>) == 16, "a vector load is 16 bytes");

struct Layout {
  long long extent[3];
  long long stride[2][3];
};

static __device__ __forceinline__ float warp_sum(float v) {
  for (int m = 16; m > 0; m >>= 1) v += __shfl_xor_sync(0xffffffffu, v, m);
  return v;
}

extern "C" __global__ void __launch_bounds__(128)
    strided(const float* __restrict__ in, float* __restrict__ out, const __grid_constant__ Layout layout) {
  const long long n = layout.extent[0] * layout.extent[1] * layout.extent[2];
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {
    long long rest = i, from = 0, to = 0;
#pragma unroll
    for (int d = 2; d >= 0; d--) {
      const long long k = rest % layout.extent[d];
      rest /= layout.extent[d];
      from += k * layout.stride[0][d];
      to += k * layout.stride[1][d];
    }
    out[to] = in[from];
  }
}

extern "C" __global__ void __launch_bounds__(256) vector_add(const float* a, const float* b, float* out, unsigned n) {
  const unsigned vectors = n / 4, i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < vectors) {
    const Pack<float, 4> x = reinterpret_cast<const Pack<float, 4>*>(a)[i];
    const Pack<float, 4> y = reinterpret_cast<const Pack<float, 4>*>(b)[i];
    Pack<float, 4> z;
#pragma unroll
    for (int k = 0; k < 4; k++) z.v[k] = x.v[k] + y.v[k];
    reinterpret_cast<Pack<float, 4>*>(out)[i] = z;
  }
  if (i < n % 4) out[vectors * 4 + i] = a[vectors * 4 + i] + b[vectors * 4 + i];
}

extern "C" __global__ void __launch_bounds__(256) transpose(const float* in, float* out, int rows, int cols) {
  __shared__ float tile[32][33];
  for (int k = threadIdx.y; k < 32; k += blockDim.y) {
    const int r = blockIdx.y * 32 + k, c = blockIdx.x * 32 + threadIdx.x;
    if (r < rows && c < cols) tile[k][threadIdx.x] = in[r * cols + c];
  }
  __syncthreads();
  for (int k = threadIdx.y; k < 32; k += blockDim.y) {
    const int r = blockIdx.x * 32 + k, c = blockIdx.y * 32 + threadIdx.x;
    if (r < cols && c < rows) out[r * rows + c] = tile[threadIdx.x][k];
  }
}

extern "C" __global__ void __launch_bounds__(256) sum(const float* in, float* out, int n) {
  __shared__ float part[32];
  float s = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += in[i];
  s = warp_sum(s);
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = s;
  __syncthreads();
  if (threadIdx.x < 32) {
    s = warp_sum(threadIdx.x < blockDim.x >> 5 ? part[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) atomicAdd(out, s);
  }
}

extern "C" __global__ void __launch_bounds__(256) softmax(const float* in, float* out, int cols) {
  extern __shared__ __align__(16) float row[];
  __shared__ float part[32];
  const float* x = in + (size_t)blockIdx.x * cols;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
  float m = __int_as_float(0xff800000);
  for (int i = threadIdx.x; i < cols; i += blockDim.x) {
    row[i] = x[i];
    m = fmaxf(m, row[i]);
  }
  for (int k = 16; k > 0; k >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, k));
  if (lane == 0) part[warp] = m;
  __syncthreads();
  m = part[0];
  for (int w = 1; w < warps; w++) m = fmaxf(m, part[w]);
  __syncthreads();
  float s = 0.0f;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) {
    row[i] = __expf(row[i] - m);
    s += row[i];
  }
  s = warp_sum(s);
  if (lane == 0) part[warp] = s;
  __syncthreads();
  s = 0.0f;
  for (int w = 0; w < warps; w++) s += part[w];
  for (int i = threadIdx.x; i < cols; i += blockDim.x) out[(size_t)blockIdx.x * cols + i] = row[i] / s;
}

// The last block to finish folds what all blocks left in scratch.
extern "C" __global__ void __launch_bounds__(64)
    sum_in_one(const float* in, float* scratch, unsigned* ticket, float* out, int n) {
  __shared__ bool last;
  float s = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += in[i];
  __shared__ float part[2];
  s = warp_sum(s);
  if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = s;
  __syncthreads();
  if (threadIdx.x == 0) {
    scratch[blockIdx.x] = part[0] + part[1];
    __threadfence();
    last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    __threadfence();
    float total = 0.0f;
    for (unsigned b = 0; b < gridDim.x; b++) total += __ldcg(&scratch[b]);
    *out = total;
  }
}
