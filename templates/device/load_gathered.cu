// A group of a row at a computed place; zeros, and no access to memory, where that is outside.  Whole words are loaded
// as such: the compiler would choose between each element and zero.
template <typename Group, typename T>
static __device__ __forceinline__ Group load_gathered(const Row<const T>& row, long long i)
{
    const bool has_words = alignof(Group) >= 4;
    struct alignas(has_words ? alignof(Group) : 4) Words {
        unsigned int at[(sizeof(Group) + 3) / 4];
    };
    Words words = {};
    if (has_words && row.inside) {
        words = *reinterpret_cast<const Words*>(row.start + i);
    }
    Group group;
    memcpy(&group, &words, sizeof(group));
    return has_words || !row.inside ? group : *reinterpret_cast<const Group*>(row.start + i);
}
