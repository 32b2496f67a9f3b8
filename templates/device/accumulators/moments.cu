// The number of some elements, their mean, and the sum of their squared distances from it.
template <typename T>
struct Moments {
    T count, mean, distance;

    static __device__ __forceinline__ Moments identity() { return {0, 0, 0}; }

    // Adds a group of elements, by the group's own mean.
    template <int N>
    __device__ __forceinline__ void add(const T (&x)[N])
    {
        Moments group{N, 0, 0};
        #pragma unroll
        for (int j = 0; j < N; ++j) {
            group.mean += x[j];
        }
        group.mean *= 1 / (T)N;
        #pragma unroll
        for (int j = 0; j < N; ++j) {
            group.distance += (x[j] - group.mean) * (x[j] - group.mean);
        }
        merge(group);
    }

    // Merges two sets of elements (Chan, Golub and LeVeque, 1979).  The weight may be off by 2 ulp.  There is no
    // branch, so that loads of several sets overlap.  Infinite means are added.
    __device__ __forceinline__ void merge(const Moments& other)
    {
        const T total = count + other.count, delta = other.mean - mean;
        const T quotient =
            sizeof(T) == 4 ? (T)__fdividef((float)other.count, (float)total) : other.count / total;
        const T weight = count == 0 ? 1 : quotient;
        distance += other.distance + delta * (delta * (count * weight));
        mean += isfinite(delta) ? delta * weight : other.mean;
        count = total;
    }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ Moments shuffle_xor(int d) const
    {
        return {__shfl_xor_sync(0xffffffffu, count, d), __shfl_xor_sync(0xffffffffu, mean, d),
                __shfl_xor_sync(0xffffffffu, distance, d)};
    }

    // The state of the first of Lanes lanes.  All have merged the same sets, but in different orders, so their last
    // bits differ.
    template <int Lanes>
    __device__ __forceinline__ Moments broadcast_first() const
    {
        return {count, __shfl_sync(0xffffffffu, mean, 0, Lanes), __shfl_sync(0xffffffffu, distance, 0, Lanes)};
    }

    // The mean; NaN without elements.
    __device__ __forceinline__ T mean_or_nan() const { return count > 0 ? mean : mean / count; }

    template <typename Count>
    __device__ __forceinline__ T variance(Count elements) const { return distance / (T)elements; }

    template <typename Count>
    __device__ __forceinline__ T variance(Count elements, int correction) const
    {
        return distance / (T)max(elements - correction, (Count)0);
    }

    template <typename Count>
    __device__ __forceinline__ T variance(Count elements, double correction) const
    {
        return distance / (T)fmax((double)elements - correction, 0.0);
    }

    // The square root of the variance.
    template <typename Count, typename... Correction>
    __device__ __forceinline__ T deviation(Count elements, Correction... correction) const
    {
        return sqrt(variance(elements, correction...));
    }
};
