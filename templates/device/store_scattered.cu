// Writes a group of a row at a computed place; nothing where that is outside.  Whole words are stored as such: the
// compiler would take narrow elements apart, and put them together again.
template <typename T, typename Group>
static __device__ __forceinline__ void store_scattered(const Row<T>& row, long long i, const Group& group)
{
    const bool has_words = alignof(Group) >= 4;
    struct alignas(has_words ? alignof(Group) : 4) Words {
        unsigned int at[(sizeof(Group) + 3) / 4];
    };
    if (!row.inside) {
        return;
    }
    if (has_words) {
        Words words;
        memcpy(&words, &group, sizeof(group));
        *reinterpret_cast<Words*>(row.start + i) = words;
    } else {
        *reinterpret_cast<Group*>(row.start + i) = group;
    }
}
