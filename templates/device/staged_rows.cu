// Reads the rows of a block into shared memory, in accesses of Bytes: `count` elements, and zeros up to `size`.
template <int Block, int Bytes, typename T>
static __device__ __forceinline__ void read_rows(T* shared, const T* rows, int count, int size)
{
    constexpr int N = 16 / sizeof(T), at_once = 4;
    for (int first = N * threadIdx.x; first < size; first += at_once * N * Block) {
        Pack<T, N, Bytes> some[at_once];
        #pragma unroll
        for (int u = 0; u < at_once; ++u) {
            const int i = first + u * N * Block;
            if (i + N <= count) {
                some[u] = *reinterpret_cast<const Pack<T, N, Bytes>*>(rows + i);
            } else {
                #pragma unroll
                for (int j = 0; j < N; ++j) {
                    some[u].at[j] = i + j < count ? rows[i + j] : T{};
                }
            }
        }
        #pragma unroll
        for (int u = 0; u < at_once; ++u) {
            const int i = first + u * N * Block;
            if (i < size) {
                *reinterpret_cast<Pack<T, N, Bytes>*>(shared + i) = some[u];
            }
        }
    }
}

// Writes what the rows of a block have become, in accesses of Bytes.
template <int Block, int Bytes, typename T>
static __device__ __forceinline__ void write_rows(T* rows, const T* shared, int count)
{
    constexpr int N = 16 / sizeof(T);
    #pragma unroll 4
    for (int i = N * threadIdx.x; i < count; i += N * Block) {
        const auto some = *reinterpret_cast<const Pack<T, N, Bytes>*>(shared + i);
        if (i + N <= count) {
            *reinterpret_cast<Pack<T, N, Bytes>*>(rows + i) = some;
        } else {
            #pragma unroll
            for (int j = 0; j < N; ++j) {
                if (i + j < count) {
                    rows[i + j] = some.at[j];
                }
            }
        }
    }
}
