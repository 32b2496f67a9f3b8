// Takes a later element of the row, where it is greater than what was found so far; the first NaN wins.
template <typename T, typename Place>
static __device__ __forceinline__ void take_greatest(Found<T, Place>& found, T x, Place place)
{
    if (!(x <= found.value) && found.value == found.value) {
        found.value = x;
        found.at = place;
    }
}
