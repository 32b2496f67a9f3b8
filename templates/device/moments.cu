// Elements seen, their mean, and the sum of their squared distances from it.
template <typename T>
struct Moments {
    T count, mean, distance;
};

// Two sets of elements as one (Chan, Golub and LeVeque, 1979).  The share may be off by a rounding or two.  There is no
// branch, so that several sets can be on their way from memory.  Infinite means meet as in a sum.
template <typename T>
static __device__ __forceinline__ void merge(Moments<T>& a, const Moments<T>& b)
{
    const T count = a.count + b.count, apart = b.mean - a.mean;
    const T quotient = sizeof(T) == 4 ? (T)__fdividef((float)b.count, (float)count) : b.count / count;
    const T share = a.count == 0 ? 1 : quotient;
    a.distance += b.distance + apart * (apart * (a.count * share));
    a.mean += isfinite(apart) ? apart * share : b.mean;
    a.count = count;
}
