// The mean of some elements, and the sum of their squared distances from it.  The caller counts the elements: once
// for all columns of a thread.
template <typename T>
struct Spread {
    T mean, distance;

    static __device__ __forceinline__ Spread identity() { return {0, 0}; }

    // Adds a group of elements, by the group's own mean.  seen: the number of elements before;
    // weight: N / (seen + N).
    template <int N, typename Count>
    __device__ __forceinline__ void add(const T (&x)[N], Count seen, Count weight)
    {
        Spread group{0, 0};
        #pragma unroll
        for (int j = 0; j < N; ++j) {
            group.mean += x[j];
        }
        group.mean *= 1 / (T)N;
        #pragma unroll
        for (int j = 0; j < N; ++j) {
            group.distance += (x[j] - group.mean) * (x[j] - group.mean);
        }
        const T delta = group.mean - mean;
        distance += group.distance + delta * (delta * (T)(seen * weight));
        mean += isfinite(delta) ? delta * (T)weight : group.mean;  // infinite means add as in a sum
    }

    template <typename Count>
    __device__ __forceinline__ Moments<T> moments(Count seen) const { return {(T)seen, mean, distance}; }
};
