// Adds a block's sums to elements, two at a time: single halves would take a loop.  Words at the ends may be shared
// with other memory.
static __device__ __forceinline__ void add_sums(__half* to, const float* sums, int count)
{
#if defined(__CUDA_ARCH__)
    const int first = (unsigned long long)to / sizeof(__half) % 2;  // whole words begin here
    for (int b = first + 2 * threadIdx.x; b + 1 < count; b += 2 * blockDim.x) {
        if (sums[b] != 0 || sums[b + 1] != 0) {
            atomicAdd(reinterpret_cast<__half2*>(to + b), __floats2half2_rn(sums[b], sums[b + 1]));
        }
    }
    const int last = first + (count - first) / 2 * 2;  // and end here
    const int b = threadIdx.x == 0 ? 0 : last;
    const bool is_alone = threadIdx.x == 0 ? first == 1 : threadIdx.x == 1 && last < count;
    if (is_alone && b < count) {
        atomicAdd(to + b, __float2half_rn(sums[b]));
    }
#else
    for (int b = threadIdx.x; b < count; b += blockDim.x) {
        atomicAdd(to + b, __float2half_rn(sums[b]));
    }
#endif
}
