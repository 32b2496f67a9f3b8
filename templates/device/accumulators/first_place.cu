// Where the first element is that equals a row's extreme, which is known; the first NaN if that is NaN.
template <typename Place>
struct FirstPlace {
    Place at;

    static __device__ __forceinline__ FirstPlace identity() { return {highest<Place>()}; }

    // Takes a group that begins at `place`.  Only one that has the extreme is searched.
    template <typename Group>
    __device__ __forceinline__ void add(const Group& x, float of_group, float of_row, Place place)
    {
        if (of_group == of_row || of_group != of_group) {
            #pragma unroll
            for (int j = sizeof(x.at) / sizeof(x.at[0]) - 1; j >= 0; --j) {
                const float one = (float)x.at[j];
                at = one == of_row || one != one ? min(at, place + j) : at;
            }
        }
    }

    __device__ __forceinline__ void merge(const FirstPlace& other) { at = min(at, other.at); }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ FirstPlace shuffle_xor(int d) const { return {__shfl_xor_sync(0xffffffffu, at, d)}; }

    __device__ __forceinline__ long long result() const { return at; }
};
