// Replaces a by b where b is greater, or as good and nearer to the start; the first NaN wins.
template <typename T>
static __device__ __forceinline__ void first_greatest(Found<T>& a, const Found<T>& b)
{
    const bool better = b.value > a.value || (b.value != b.value && a.value == a.value);
    const bool as_good = b.value == a.value || (b.value != b.value && a.value != a.value);
    if (better || (as_good && b.at < a.at)) {
        a = b;
    }
}
