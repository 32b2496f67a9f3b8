// Whether kernels may start while the one ahead of them in the stream ends (programmatic dependent launch).
static bool may_start_early()
{
    int device = 0, major = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    return major >= 9;
}

// Queues a kernel on a grid of `x` by `y` blocks; of no blocks, which are no error, nothing.
template <typename Kernel, typename... Values>
static int launch(Kernel& kernel, long long x, long long y, int threads, bool starts_early, cudaStream_t stream,
                  Values... values)
{
    if (x > 2147483647 || y > 65535) return KGEN_TOO_LARGE;
    if (x == 0 || y == 0) return KGEN_SUCCESS;
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(static_cast<unsigned int>(x), static_cast<unsigned int>(y));
    config.blockDim = dim3(threads);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = starts_early && may_start_early() ? 1 : 0;
    return -static_cast<int>(cudaLaunchKernelEx(&config, kernel, values...));
}
