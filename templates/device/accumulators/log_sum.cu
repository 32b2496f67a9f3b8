// The greatest of some elements, and the sum of exp(element - greatest).
template <typename T>
struct LogSum {
    T peak, sum;

    static __device__ __forceinline__ LogSum identity() { return {lowest<T>(), 0}; }

    // What exponents are taken relative to: the greatest element where it is finite.
    __device__ __forceinline__ T origin() const { return isinf(peak) ? 0 : peak; }

    // Takes a group of elements, relative to the greatest so far.
    template <int N>
    __device__ __forceinline__ void add(const T (&x)[N])
    {
        const T before = peak;
        #pragma unroll
        for (int j = 0; j < N; ++j) {
            peak = nan_max(peak, x[j]);
        }
        T group = 0;
        #pragma unroll
        for (int j = 0; j < N; ++j) {
            group += exp_approx(x[j] - origin());
        }
        sum = sum * exp(before - origin()) + group;
    }

    // Two sets of elements as one.  Nothing is contracted, so that a with b is b with a.
    __device__ __forceinline__ void merge(const LogSum& other)
    {
        const T before = peak;
        peak = nan_max(peak, other.peak);
        const T mine = sum * exp(before - origin()), theirs = other.sum * exp(other.peak - origin());
        sum = sizeof(T) == 4 ? (T)__fadd_rn((float)mine, (float)theirs) : (T)__dadd_rn(mine, theirs);
    }

    // Merges what neighbouring lanes have: an exponential for each, not for each step.  The product is not contracted,
    // so that all lanes get the same bits.
    template <int Lanes>
    __device__ __forceinline__ void merge_lanes()
    {
        const T before = peak;
        #pragma unroll
        for (int d = Lanes / 2; d > 0; d /= 2) {
            peak = nan_max(peak, __shfl_xor_sync(0xffffffffu, peak, d));
        }
        const T scale = exp(before - origin());
        sum = sizeof(T) == 4 ? (T)__fmul_rn((float)sum, (float)scale) : (T)__dmul_rn(sum, scale);
        #pragma unroll
        for (int d = Lanes / 2; d > 0; d /= 2) {
            sum += __shfl_xor_sync(0xffffffffu, sum, d);
        }
    }

    // The state of lane `lane ^ d`.
    __device__ __forceinline__ LogSum shuffle_xor(int d) const
    {
        return {__shfl_xor_sync(0xffffffffu, peak, d), __shfl_xor_sync(0xffffffffu, sum, d)};
    }

    __device__ __forceinline__ T result() const { return log(sum) + peak; }

    // The sum of exp(element - greatest), which has no value where the greatest is infinite.
    __device__ __forceinline__ T exp_sum() const { return sum + (peak - peak); }
};
