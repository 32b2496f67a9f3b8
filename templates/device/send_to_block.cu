// Writes to the same shared variable of block `rank` of the cluster, and counts the bytes on that block's mbarrier.
template <typename T>
static __device__ __forceinline__ void send_to_block(T& slot, T value, unsigned long long& arrived, unsigned int rank)
{
    static_assert(sizeof(T) % 4 == 0, "whole words are written");
    unsigned int words[sizeof(T) / 4], to, count;
    memcpy(words, &value, sizeof(T));
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(to) : "r"((unsigned int)__cvta_generic_to_shared(&slot)), "r"(rank));
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(count) : "r"((unsigned int)__cvta_generic_to_shared(&arrived)), "r"(rank));
    #pragma unroll
    for (int w = 0; w < (int)sizeof(T) / 4; ++w) {
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
                     :: "r"(to + 4 * w), "r"(words[w]), "r"(count) : "memory");
    }
}
