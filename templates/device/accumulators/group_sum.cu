// The sum of a group of integers of 16 bits at most, which is below 2^31.
struct GroupSum {
    int sum;

    static __device__ __forceinline__ GroupSum identity() { return {0}; }

    __device__ __forceinline__ void add(int x) { sum += x; }
    __device__ __forceinline__ int result() const { return sum; }
};
