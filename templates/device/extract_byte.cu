// Element j of a group of bytes, as an int.
template <typename T, int N, int Bytes>
static __device__ __forceinline__ int extract_byte(const Pack<T, N, Bytes>& x, int j)
{
    unsigned int word;
    memcpy(&word, &x.at[j / 4 * 4], sizeof(word));
    return take_byte<T>(word, j % 4);
}
