// A variable in the shared memory of another block of the cluster.
template <typename T>
static __device__ __forceinline__ T& in_block(T& shared, unsigned int rank)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#error "thread-block clusters need sm_90 or later: leave --arch out for a file that runs everywhere"
#endif
    return *static_cast<T*>(__cluster_map_shared_rank(&shared, rank));
}
