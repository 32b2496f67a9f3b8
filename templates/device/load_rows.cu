// Reads the rows of a block, all of its loads at once: `size` elements, Each vectors a thread.  Every thread has Whole
// of these: tests of the others alone fit the predicates, so that no load waits for one.
template <int Block, int Whole, int Each, typename Access, typename T>
static __device__ __forceinline__ void load_rows(Access (&vectors)[Each], const T* rows, int size)
{
    constexpr int N = sizeof(Access) / sizeof(T);
    #pragma unroll
    for (int u = 0; u < Each; ++u) {
        const int i = N * (u * Block + threadIdx.x);
        if (u < Whole || i < size) {
            vectors[u] = *reinterpret_cast<const Access*>(rows + i);
        }
    }
}
