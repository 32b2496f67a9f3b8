// Reads the rows of a block into shared memory: `count` elements in accesses of Bytes, and zeros up to `size`.
template <int Block, int Bytes, typename T>
static __device__ __forceinline__ void read_rows(T* shared, const T* rows, int count, int size)
{
    constexpr int N = 16 / sizeof(T), at_once = 4;
    if (count < size) {  // the last block
        for (int i = threadIdx.x; i < size; i += Block) {
            shared[i] = i < count ? rows[i] : T{};
        }
        return;
    }
    for (int first = N * threadIdx.x; first < size; first += at_once * N * Block) {
        Pack<T, N, Bytes> some[at_once];
        #pragma unroll
        for (int u = 0; u < at_once; ++u) {
            if (first + u * N * Block < size) {
                some[u] = *reinterpret_cast<const Pack<T, N, Bytes>*>(rows + first + u * N * Block);
            }
        }
        #pragma unroll
        for (int u = 0; u < at_once; ++u) {
            if (first + u * N * Block < size) {
                *reinterpret_cast<Pack<T, N, Bytes>*>(shared + first + u * N * Block) = some[u];
            }
        }
    }
}
