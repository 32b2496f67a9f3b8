// Reads a group as words: read as such, bytes would be unpacked at once.
template <typename T>
static __device__ __forceinline__ T load_words(const void* from)
{
    struct alignas(alignof(T)) Words {
        unsigned int at[sizeof(T) / 4];
    };
    const Words words = *reinterpret_cast<const Words*>(from);
    T result;
    memcpy(&result, &words, sizeof(T));
    return result;
}
