// Reads 16 bytes with an L2 policy.
template <typename T>
static __device__ __forceinline__ T load_evict_last(const void* from, [[maybe_unused]] unsigned long long policy)
{
    static_assert(sizeof(T) == 16, "one access");
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    uint4 words;
    asm volatile("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
                 : "l"(__cvta_generic_to_global(from)), "l"(policy));
    T result;
    memcpy(&result, &words, sizeof(T));
    return result;
#else
    return *reinterpret_cast<const T*>(from);
#endif
}
