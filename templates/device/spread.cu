// The mean of the elements seen, and the sum of their squared distances from it; their number is known elsewhere.
template <typename T>
struct Spread {
    T mean, distance;
};

// Takes the elements of a group into it, about the group's own mean: they are `weight` of all, after `seen` others.
template <typename T, int N, typename Count>
static __device__ __forceinline__ void add_group(Spread<T>& all, const T (&x)[N], Count seen, Count weight)
{
    T sum = 0, distance = 0;
    #pragma unroll
    for (int j = 0; j < N; ++j) {
        sum += x[j];
    }
    const T mean = sum * (1 / (T)N), apart = mean - all.mean;
    #pragma unroll
    for (int j = 0; j < N; ++j) {
        distance += (x[j] - mean) * (x[j] - mean);
    }
    all.distance += distance + apart * (apart * (T)(seen * weight));
    all.mean += apart * (T)weight;
}

template <typename T, typename Count>
static __device__ __forceinline__ Moments<T> moments(const Spread<T>& all, Count seen)
{
    return {(T)seen, all.mean, all.distance};
}
