// FlashInfer's kernels behind C functions.  Built by flashinfer.py against the headers of an installed wheel; each returns
// a CUDA error code.  Launches as in FlashInfer's own Python package, with programmatic dependent launch.
#include <algorithm>
#include <cstdint>

#include <flashinfer/activation.cuh>
#include <flashinfer/norm.cuh>

using bf16 = __nv_bfloat16;

namespace {

__device__ __forceinline__ float silu(const float& x) { return x / (1.0f + __expf(-x)); }

}  // namespace

extern "C" int rmsnorm(bf16* x, bf16* w, bf16* y, uint32_t rows, uint32_t d, cudaStream_t stream)
{
    return flashinfer::norm::RMSNorm(x, w, y, rows, d, d, d, 1e-6f, true, stream);
}

// r += x in place, then x = rmsnorm(r).
extern "C" int add_rmsnorm(bf16* x, bf16* r, bf16* w, uint32_t rows, uint32_t d, cudaStream_t stream)
{
    return flashinfer::norm::FusedAddRMSNorm(x, r, w, rows, d, d, d, 1e-6f, true, stream);
}

extern "C" int rmsnorm_fp8(bf16* x, bf16* w, __nv_fp8_e4m3* y, float* scale, uint32_t rows, uint32_t d, cudaStream_t stream)
{
    return flashinfer::norm::RMSNormQuant(x, w, y, rows, d, d, d, scale, 1e-6f, true, stream);
}

extern "C" int layernorm(bf16* x, float* w, float* b, bf16* y, uint32_t rows, uint32_t d, cudaStream_t stream)
{
    return flashinfer::norm::LayerNorm(x, w, b, y, rows, d, 1e-5f, stream);
}

extern "C" int silu_mul(bf16* y, bf16* x, uint32_t rows, int d, cudaStream_t stream)
{
    cudaLaunchAttribute early;
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = rows;
    config.blockDim = std::min(d / 8, 256);
    config.stream = stream;
    config.attrs = &early;
    config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, flashinfer::activation::act_and_mul_kernel<bf16, silu, 8>, y, x, d);
}
