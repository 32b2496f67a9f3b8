// N elements, each a step after the one before: one access where they are consecutive and aligned.
template <int N, typename T, typename Step>
static __device__ __forceinline__ Pack<T, N, N * sizeof(T)> load_run(const T* from, const Step step)
{
    using Run = Pack<T, N, N * sizeof(T)>;
    if (step == 1 && reinterpret_cast<unsigned long long>(from) % sizeof(Run) == 0) {
        return *reinterpret_cast<const Run*>(from);
    }
    Run found;
    #pragma unroll
    for (int j = 0; j < N; ++j) {
        found.at[j] = from[j * step];
    }
    return found;
}
