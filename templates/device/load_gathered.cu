// What groups of an alignment, in bytes, are made of.
template <int Alignment>
struct Unit {
    using Type = unsigned int;
};
template <>
struct Unit<2> {
    using Type = unsigned short;
};
template <>
struct Unit<1> {
    using Type = unsigned char;
};

// A group of a row at a computed place; zeros, and no access to memory, where there is no row.  By words: the compiler
// would choose between each element and zero.
template <typename Group, typename T>
static __device__ __forceinline__ Group load_gathered(const T* row, long long i)
{
    using Word = typename Unit<alignof(Group)>::Type;
    struct alignas(Group) Words {
        Word at[sizeof(Group) / sizeof(Word)];
    };
    Words words = {};
    if (row != nullptr) {
        words = *reinterpret_cast<const Words*>(row + i);
    }
    Group group;
    memcpy(&group, &words, sizeof(group));
    return group;
}
