// x to the power N, 2 <= N <= 8, by squaring.
template <int N, typename T>
static __device__ __forceinline__ T small_pow(T x)
{
    const T x2 = x * x;
    if (N == 2) return x2;
    if (N == 3) return x2 * x;
    const T x4 = x2 * x2;
    if (N == 8) return x4 * x4;
    const T head = N >= 6 ? x4 * x2 : x4;
    return N & 1 ? head * x : head;
}
