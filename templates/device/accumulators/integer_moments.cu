// The sum of bytes and of their squares, both exact: fewer than 2^16 at once.
struct ByteMoments {
    int sum;
    unsigned int squares;

    static __device__ __forceinline__ ByteMoments identity() { return {0, 0}; }

    __device__ __forceinline__ void add(int x)
    {
        sum += x;
        squares += x * x;
    }
};

// The same of any number of bytes.
struct IntegerMoments {
    long long sum, squares;

    static __device__ __forceinline__ IntegerMoments identity() { return {0, 0}; }

    __device__ __forceinline__ void merge(const ByteMoments& part)
    {
        sum += part.sum;
        squares += part.squares;
    }

    __device__ __forceinline__ void merge(const IntegerMoments& other)
    {
        sum += other.sum;
        squares += other.squares;
    }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ IntegerMoments shuffle_xor(int d) const
    {
        return {__shfl_xor_sync(0xffffffffu, sum, d), __shfl_xor_sync(0xffffffffu, squares, d)};
    }

    template <typename Count>
    __device__ __forceinline__ double mean(Count count) const { return sum / (double)count; }

    // The sum of squared distances from the mean: exact about floor(mean), then corrected for its distance to the mean.
    __device__ __forceinline__ double distance(long long count) const
    {
        const long long below = count > 0 ? sum / count - (sum % count < 0) : 0, rest = sum - below * count;
        return (double)(squares - below * (sum + rest)) - rest * (rest / (double)count);
    }

    template <typename Count>
    __device__ __forceinline__ double variance(Count elements) const { return distance(elements) / (double)elements; }

    template <typename Count, typename Correction>
    __device__ __forceinline__ double variance(Count elements, Correction correction) const
    {
        return distance(elements) / fmax((double)elements - (double)correction, 0.0);
    }

    // The square root of the variance.
    template <typename Count, typename... Correction>
    __device__ __forceinline__ double deviation(Count elements, Correction... correction) const
    {
        return sqrt(variance(elements, correction...));
    }
};
