// Reads 16 bytes that are not read again: caches evict them first.
template <typename T>
static __device__ __forceinline__ T load_streaming(const void* from)
{
    static_assert(sizeof(T) == 16, "one access");
#if defined(__CUDA_ARCH__)
    const uint4 words = __ldcs(reinterpret_cast<const uint4*>(from));
    T result;
    memcpy(&result, &words, sizeof(T));
    return result;
#else
    return *reinterpret_cast<const T*>(from);
#endif
}
