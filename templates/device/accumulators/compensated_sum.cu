// A sum with the accumulated rounding errors (Kahan-Babuska), for a thread that adds up a long row.
template <typename T>
struct CompensatedSum {
    T sum, rest;

    static __device__ __forceinline__ CompensatedSum identity() { return {0, 0}; }

    __device__ __forceinline__ void merge(const Sum<T>& part)
    {
        const T total = sum + part.sum, gained = total - sum;
        rest += (sum - (total - gained)) + (part.sum - gained);
        sum = total;
    }

    __device__ __forceinline__ Sum<T> total() const { return {isfinite(sum) ? sum + rest : sum}; }
};
