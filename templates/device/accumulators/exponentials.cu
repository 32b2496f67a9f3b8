// The sum of exp(element - peak), where a first step has computed the peak.
template <typename T>
struct Exponentials {
    T peak, sum;

    static __device__ __forceinline__ Exponentials of(const Max<T>& greatest) { return {greatest.value, 0}; }

    // The initial state of a group of the same elements.
    __device__ __forceinline__ Exponentials part() const { return {peak, 0}; }

    // Relative to 0 where the peak is infinite.
    __device__ __forceinline__ void add(T x) { sum += exp_approx(x - (isinf(peak) ? 0 : peak)); }
    __device__ __forceinline__ void merge(const Exponentials& other) { sum += other.sum; }

    // The state of thread `thread ^ d`, which has the same peak.
    __device__ __forceinline__ Exponentials shuffle_xor(int d) const
    {
        return {peak, __shfl_xor_sync(0xffffffffu, sum, d)};
    }

    __device__ __forceinline__ LogSum<T> log_sum() const { return {peak, sum}; }
};
