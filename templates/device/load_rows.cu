// Reads the rows of a block into shared memory: `count` elements, then the last one up to `size`, since threads without
// a row compute as well, and zeros may take long to divide.  Each thread issues all of its Each loads before it stores
// the first.
template <int Block, int Each, typename Access, typename T>
static __device__ __forceinline__ void load_rows(T* shared, const T* rows, int count, int size)
{
    constexpr int N = sizeof(Access) / sizeof(T);
    if (count < size) {  // the last block
        #pragma unroll 1
        for (int i = N * threadIdx.x; i + N <= count; i += N * Block) {
            *reinterpret_cast<Access*>(shared + i) = *reinterpret_cast<const Access*>(rows + i);
        }
        #pragma unroll 4
        for (int i = count - count % N + threadIdx.x; i < size; i += Block) {
            shared[i] = rows[min(i, count - 1)];
        }
        return;
    }
    Access some[Each];
    #pragma unroll
    for (int u = 0; u < Each; ++u) {
        const int i = N * (u * Block + threadIdx.x);
        if (i < size) {
            some[u] = *reinterpret_cast<const Access*>(rows + i);
        }
    }
    #pragma unroll
    for (int u = 0; u < Each; ++u) {
        const int i = N * (u * Block + threadIdx.x);
        if (i < size) {
            *reinterpret_cast<Access*>(shared + i) = some[u];
        }
    }
}
