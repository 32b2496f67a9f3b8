// Reads a group as 32-bit words.  The compiler would unpack the bytes of a vector load at once, and take a wrong sign
// for sums of every fourth signed one (CUDA 12.1 to 13.5, up to sm_90).
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
