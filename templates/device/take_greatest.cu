// Takes a later element of the row, where it is greater than what was found so far; the first NaN wins.
template <typename T>
static __device__ __forceinline__ void take_greatest(Found<T>& found, T x, long long place)
{
    if (!(x <= found.value) && found.value == found.value) {
        found.value = x;
        found.at = place;
    }
}
