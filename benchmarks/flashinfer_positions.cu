// FlashInfer's rotary embedding and its append to a paged cache behind C functions, as flashinfer.cu has its norms.
#include <cstdint>

#include <flashinfer/page.cuh>
#include <flashinfer/pos_enc.cuh>

using bf16 = __nv_bfloat16;

// q: [tokens, q_heads, size], k: [tokens, k_heads, size], in place; cache: [positions, size] float32.
extern "C" int rotary(bf16* q, bf16* k, float* cache, int64_t* positions, uint32_t tokens, uint32_t q_heads,
                      uint32_t k_heads, uint32_t size, bool interleave, cudaStream_t stream)
{
    return flashinfer::BatchQKApplyRotaryPosIdsCosSinCache(
        q, k, q, k, cache, positions, tokens, q_heads, k_heads, size, size, q_heads * size, size, k_heads * size, size,
        q_heads * size, size, k_heads * size, size, interleave, stream);
}

// key, value: [tokens, heads, size] to caches of pages [page, heads, size].  Token t goes to place positions[t] of
// request batch[t], whose pages are indices[indptr[batch[t]]...].
extern "C" int append(bf16* key, bf16* value, bf16* key_cache, bf16* value_cache, int32_t* indices, int32_t* indptr,
                      int32_t* last_page, int32_t* batch, int32_t* positions, uint32_t tokens, uint32_t heads,
                      uint32_t size, uint32_t page, uint32_t requests, cudaStream_t stream)
{
    const flashinfer::paged_kv_t<bf16, int32_t> paged(heads, page, size, requests, flashinfer::QKVLayout::kNHD,
                                                      key_cache, value_cache, indices, indptr, last_page);
    const size_t token = heads * size;
    return flashinfer::AppendPagedKVCache(paged, key, value, batch, positions, tokens, token, size, token, size, stream);
}
