// The maximum of some elements and the index of its first occurrence; the first NaN counts as the maximum.
template <typename T, typename Place>
struct ArgMax {
    T value;
    Place at;

    static __device__ __forceinline__ ArgMax identity() { return {lowest<T>(), 0}; }

    // Adds an element whose index is above those of all before.
    __device__ __forceinline__ void add(T x, Place place)
    {
        if (!(x <= value) && value == value) {
            value = x;
            at = place;
        }
    }

    // Merges two sets of elements, in any order.  Bitwise operators avoid branches.
    __device__ __forceinline__ void merge(const ArgMax& other)
    {
        const bool is_nan = value != value, other_is_nan = other.value != other.value;
        const bool better = (other.value > value) | (other_is_nan & !is_nan);
        const bool as_good = (other.value == value) | (other_is_nan & is_nan);
        if (better | (as_good & (other.at < at))) {
            *this = other;
        }
    }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ ArgMax shuffle_xor(int d) const
    {
        return {__shfl_xor_sync(0xffffffffu, value, d), __shfl_xor_sync(0xffffffffu, at, d)};
    }

    __device__ __forceinline__ long long result() const { return at; }
};
