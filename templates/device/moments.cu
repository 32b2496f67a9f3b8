// Elements seen, their mean, and the sum of their squared distances from it.
template <typename T>
struct Moments {
    T count, mean, distance;
};

// A share may be off by a rounding or two: what it scales is only a distance between means.
static __device__ __forceinline__ float share_of(float part, float all) { return __fdividef(part, all); }
static __device__ __forceinline__ double share_of(double part, double all) { return part / all; }

// Two sets of elements as one (Chan, Golub and LeVeque, 1979).
template <typename T>
static __device__ __forceinline__ void merge(Moments<T>& a, const Moments<T>& b)
{
    const T count = a.count + b.count, share = count == 0 ? 0 : share_of(b.count, count), apart = b.mean - a.mean;
    if (b.count != 0) {
        a.distance += b.distance + (a.count == 0 ? 0 : apart * apart * a.count * share);
        a.mean = a.count == 0 ? b.mean : a.mean + apart * share;
    }
    a.count = count;
}

template <typename T>
static __device__ __forceinline__ Moments<T> shuffled(const Moments<T>& a, int d)
{
    return {__shfl_xor_sync(0xffffffffu, a.count, d), __shfl_xor_sync(0xffffffffu, a.mean, d),
            __shfl_xor_sync(0xffffffffu, a.distance, d)};
}
