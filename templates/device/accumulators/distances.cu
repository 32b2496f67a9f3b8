// The sum of squared distances from the mean, which a first step has computed: with fewer instructions than Moments,
// and more accurately.
template <typename T>
struct Distances {
    T count, mean, distance;

    static __device__ __forceinline__ Distances of(const Total<T>& all)
    {
        return {all.count, all.sum / max(all.count, (T)1), 0};
    }

    // The initial state of a group of the same elements.
    __device__ __forceinline__ Distances part() const { return {0, mean, 0}; }

    __device__ __forceinline__ void add(T x) { distance += (x - mean) * (x - mean); }
    __device__ __forceinline__ void merge(const Distances& other) { distance += other.distance; }

    // The state of thread `thread ^ d`, which has the same mean.
    __device__ __forceinline__ Distances shuffle_xor(int d) const
    {
        return {count, mean, __shfl_xor_sync(0xffffffffu, distance, d)};
    }

    __device__ __forceinline__ Moments<T> moments() const { return {count, mean, distance}; }
};
