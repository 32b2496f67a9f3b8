// Takes the elements of a group into the moments, about the group's own mean.
template <typename T, int N>
static __device__ __forceinline__ void add_group(Moments<T>& all, const T (&x)[N])
{
    T sum = 0, distance = 0;
    #pragma unroll
    for (int j = 0; j < N; ++j) {
        sum += x[j];
    }
    const T mean = sum * (1 / (T)N);
    #pragma unroll
    for (int j = 0; j < N; ++j) {
        distance += (x[j] - mean) * (x[j] - mean);
    }
    merge(all, Moments<T>{N, mean, distance});
}
