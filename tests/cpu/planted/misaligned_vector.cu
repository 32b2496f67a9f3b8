// A 16-byte load from an address that is a multiple of 4 only.
struct alignas(16) Vector {
  float v[4];
};
extern "C" __global__ void planted(const float* in, float* out) {
  const Vector x = reinterpret_cast<const Vector*>(in)[threadIdx.x];
  out[threadIdx.x] = x.v[0] + x.v[1] + x.v[2] + x.v[3];
}
