// Writes what the rows of a block have become, in accesses of Bytes.
template <int Block, int Bytes, typename T>
static __device__ __forceinline__ void write_rows(T* rows, const T* shared, int count)
{
    constexpr int N = 16 / sizeof(T);
    #pragma unroll 4
    for (int i = N * threadIdx.x; i <= count - N; i += N * Block) {
        *reinterpret_cast<Pack<T, N, Bytes>*>(rows + i) = *reinterpret_cast<const Pack<T, N, Bytes>*>(shared + i);
    }
    if (threadIdx.x < count % N) {  // of the last block
        const int i = count - 1 - threadIdx.x;
        rows[i] = shared[i];
    }
}
