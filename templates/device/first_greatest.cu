// Replaces a by b where b is greater, or as good and nearer to the start; the first NaN wins.  Without branches.
template <typename T, typename Place>
static __device__ __forceinline__ void first_greatest(Found<T, Place>& a, const Found<T, Place>& b)
{
    const bool a_is_nan = a.value != a.value, b_is_nan = b.value != b.value;
    const bool better = (b.value > a.value) | (b_is_nan & !a_is_nan);
    const bool as_good = (b.value == a.value) | (b_is_nan & a_is_nan);
    if (better | (as_good & (b.at < a.at))) {
        a = b;
    }
}
