// A group of bytes in words.  Compilers take vectors of bytes apart by two or three instructions an element, and
// convert bytes to floats by a slower one than ints.
template <typename T, int N, int Bytes>
struct alignas(Bytes) BytePack {
    struct Elements {
        unsigned int words[N / 4];

        __device__ __forceinline__ int operator[](int j) const { return take_byte<T>(words[j / 4], j % 4); }
    } at;
};
