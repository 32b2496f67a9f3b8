// How many clusters of a kernel fit the device at a time.
template <typename Kernel>
static long long clusters_that_fit(Kernel& kernel, int blocks, int threads)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = blocks;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1024 * blocks);
    config.blockDim = dim3(threads);
    config.attrs = &attribute;
    config.numAttrs = 1;
    int found = 0;
    return cudaOccupancyMaxActiveClusters(&found, kernel, &config) == cudaSuccess ? found : 0;
}
