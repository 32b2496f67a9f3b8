// Whether N elements are consecutive, and aligned to all of them.
template <int N, typename T, typename Step>
static __device__ __forceinline__ bool is_run(const T* from, const Step step)
{
    return step == 1 && reinterpret_cast<unsigned long long>(from) % (N * sizeof(T)) == 0;
}
