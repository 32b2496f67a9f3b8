// Writes the results of a block's rows from shared memory.
template <int Block, typename Access, typename T>
static __device__ __forceinline__ void store_rows(T* rows, const T* shared, int count)
{
    constexpr int N = sizeof(Access) / sizeof(T);
    #pragma unroll 4
    for (int i = N * threadIdx.x; i <= count - N; i += N * Block) {
        *reinterpret_cast<Access*>(rows + i) = *reinterpret_cast<const Access*>(shared + i);
    }
    if ((int)threadIdx.x < count % N) {  // the rest: only the last block's count is no multiple of N
        const int i = count - 1 - threadIdx.x;
        rows[i] = shared[i];
    }
}
