// Reads 16 bytes that are not read again: caches evict them first.
template <typename T>
static __device__ __forceinline__ T load_streaming(const void* from)
{
    static_assert(sizeof(T) == 16, "one access");
#if defined(__CUDA_ARCH__)
    uint4 words;  // by volatile assembly, which is not moved above the wait for earlier kernels, as __ldcs is
    asm volatile("ld.global.cs.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
                 : "l"(__cvta_generic_to_global(from)));
    T result;
    memcpy(&result, &words, sizeof(T));
    return result;
#else
    return *reinterpret_cast<const T*>(from);
#endif
}
