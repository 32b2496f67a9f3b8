// Writes a group of 16 bytes at once.  Where elements of several groups are computed together, the compiler would write
// a group in parts.
template <typename Group>
static __device__ __forceinline__ void store_words(void* to, const Group& group)
{
#if defined(__CUDA_ARCH__)
    uint4 words;
    memcpy(&words, &group, sizeof(words));
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "r"(words.x),
                 "r"(words.y), "r"(words.z), "r"(words.w)
                 : "memory");
#else
    *static_cast<Group*>(to) = group;
#endif
}
