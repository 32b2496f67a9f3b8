// The sum of exp(element - peak), for a peak that a first step has found.
template <typename T>
struct Exponentials {
    T peak, sum;

    static __device__ __forceinline__ Exponentials of(const Max<T>& greatest) { return {greatest.value, 0}; }

    // What a group of the same elements begins with.
    __device__ __forceinline__ Exponentials part() const { return {peak, 0}; }

    // Relative to the peak where it is finite.
    __device__ __forceinline__ void add(T x) { sum += exp_approx(x - (isinf(peak) ? 0 : peak)); }
    __device__ __forceinline__ void merge(const Exponentials& other) { sum += other.sum; }

    // The state of a thread that has the same peak, whose number differs by the bit `d`.
    __device__ __forceinline__ Exponentials shuffle_xor(int d) const
    {
        return {peak, __shfl_xor_sync(0xffffffffu, sum, d)};
    }

    __device__ __forceinline__ LogSum<T> log_sum() const { return {peak, sum}; }
};
