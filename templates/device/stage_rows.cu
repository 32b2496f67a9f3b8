// Writes what load_rows() has read into shared memory.
template <int Block, int Whole, int Each, typename Access, typename T>
static __device__ __forceinline__ void stage_rows(T* shared, const Access (&vectors)[Each], int size)
{
    constexpr int N = sizeof(Access) / sizeof(T);
    #pragma unroll
    for (int u = 0; u < Each; ++u) {
        const int i = N * (u * Block + threadIdx.x);
        if (u < Whole || i < size) {
            *reinterpret_cast<Access*>(shared + i) = vectors[u];
        }
    }
}
