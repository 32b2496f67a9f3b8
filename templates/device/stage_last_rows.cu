// Reads the rows of the last block into shared memory: `count` elements, then the last one up to `size`, since threads
// without a row compute as well, and zeros may take long to divide.
template <int Block, typename Access, typename T>
static __device__ __forceinline__ void stage_last_rows(T* shared, const T* rows, int count, int size)
{
    constexpr int N = sizeof(Access) / sizeof(T);
    #pragma unroll 1
    for (int i = N * threadIdx.x; i + N <= count; i += N * Block) {
        *reinterpret_cast<Access*>(shared + i) = *reinterpret_cast<const Access*>(rows + i);
    }
    #pragma unroll 4
    for (int i = count - count % N + threadIdx.x; i < size; i += Block) {
        shared[i] = rows[min(i, count - 1)];
    }
}
