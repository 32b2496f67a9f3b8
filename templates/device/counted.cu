// How many elements there are, and their sum.
template <typename T>
struct Counted {
    T count, sum;
};

template <typename T>
static __device__ __forceinline__ void merge(Counted<T>& a, const Counted<T>& b)
{
    a.count += b.count;
    a.sum += b.sum;
}
