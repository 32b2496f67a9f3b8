// Writes a group of 4, 8 or 16 bytes at once.  The compiler would put narrow elements together first, or write a group
// in parts where elements of several are computed together.
template <typename Group>
static __device__ __forceinline__ void store_words(void* to, const Group& group)
{
#if defined(__CUDA_ARCH__)
    uint4 words = {};
    memcpy(&words, &group, sizeof(group));
    const unsigned long long at = __cvta_generic_to_global(to);
    if (sizeof(group) == 16) {
        asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(words.x), "r"(words.y), "r"(words.z),
                     "r"(words.w)
                     : "memory");
    } else if (sizeof(group) == 8) {
        asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(at), "r"(words.x), "r"(words.y) : "memory");
    } else {
        asm volatile("st.global.u32 [%0], %1;" ::"l"(at), "r"(words.x) : "memory");
    }
#else
    *static_cast<Group*>(to) = group;
#endif
}
