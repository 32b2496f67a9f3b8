// The number of some elements and their sum: the first of two steps to the moments of a warp's elements.
template <typename T>
struct Total {
    T count, sum;

    static __device__ __forceinline__ Total identity() { return {0, 0}; }

    // Adds the sum of a group of `elements` elements.
    __device__ __forceinline__ void add(const Sum<T>& group, int elements) { merge({(T)elements, group.sum}); }

    __device__ __forceinline__ void merge(const Total& other)
    {
        count += other.count;
        sum += other.sum;
    }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ Total shuffle_xor(int d) const
    {
        return {__shfl_xor_sync(0xffffffffu, count, d), __shfl_xor_sync(0xffffffffu, sum, d)};
    }

    __device__ __forceinline__ T result() const { return sum; }
};
