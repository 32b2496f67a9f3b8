// The sum of a group of integers of at most 16 bits, which cannot overflow.
struct GroupSum {
    int sum;

    static __device__ __forceinline__ GroupSum identity() { return {0}; }

    __device__ __forceinline__ void add(int x) { sum += x; }
    __device__ __forceinline__ int result() const { return sum; }
};
