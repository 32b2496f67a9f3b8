static std::atomic<cudaLibrary_t> libraries[IMAGES];

// The number of the image for the current device.
static cudaError_t image_for_device(int* found)
{
    int device = 0, major = 0, minor = 0;
    cudaError_t status = cudaGetDevice(&device);
    if (status == cudaSuccess) status = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    if (status == cudaSuccess) status = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
    if (status != cudaSuccess) return status;
    status = cudaErrorNoKernelImageForDevice;
    for (int i = 0; i < IMAGES; ++i) {
        const Image& image = images[i];
        const bool is_from_minor = image.major == major && image.minor <= minor;
        const bool is_covered = image.is_ptx ? image.major < major || is_from_minor
                                             : is_from_minor && minor <= image.last_minor;
        if (is_covered) {
            *found = i;
            status = cudaSuccess;
        }
    }
    return status;
}

// Loads an image at its first use.  Of several threads, one keeps what it loaded.
static cudaError_t load(int image, cudaLibrary_t* found)
{
    *found = libraries[image].load();
    if (*found != nullptr) return cudaSuccess;
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;  // a graph that is being captured has no part in it
    cudaThreadExchangeStreamCaptureMode(&mode);
    cudaLibrary_t loaded = nullptr;
    const cudaError_t status =
        cudaLibraryLoadData(&loaded, images[image].data, nullptr, nullptr, 0, nullptr, nullptr, 0);
    cudaThreadExchangeStreamCaptureMode(&mode);
    if (status != cudaSuccess) return status;
    if (libraries[image].compare_exchange_strong(*found, loaded)) {
        *found = loaded;
        return cudaSuccess;
    }
    return cudaLibraryUnload(loaded);
}

// A kernel by its name, and its handle in each image once it is known.
template <typename Function>
struct Kernel {
    const char* name;
    std::atomic<cudaKernel_t> handles[IMAGES];
};

static cudaError_t find(const char* name, std::atomic<cudaKernel_t>* handles, cudaKernel_t* found)
{
    int image = 0;
    cudaError_t status = image_for_device(&image);
    if (status != cudaSuccess) return status;
    *found = handles[image].load();
    if (*found != nullptr) return cudaSuccess;
    cudaLibrary_t library = nullptr;
    status = load(image, &library);
    if (status == cudaSuccess) status = cudaLibraryGetKernel(found, library, name);
    if (status == cudaSuccess) handles[image].store(*found);
    return status;
}

// The functions of CUDA's C++ interface that launchers call.

template <typename... Parameters, typename... Values>
static cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, Kernel<void(Parameters...)>& kernel,
                                      Values... values)
{
    cudaKernel_t found = nullptr;
    const cudaError_t status = find(kernel.name, kernel.handles, &found);
    if (status != cudaSuccess) return status;
    const auto launch = [&](Parameters... converted) {
        void* pointers[] = {static_cast<void*>(&converted)...};
        return cudaLaunchKernelExC(config, reinterpret_cast<const void*>(found), pointers);
    };
    return launch(values...);
}

template <typename Function>
static cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, Kernel<Function>& kernel,
                                                  const cudaLaunchConfig_t* config)
{
    cudaKernel_t found = nullptr;
    const cudaError_t status = find(kernel.name, kernel.handles, &found);
    if (status != cudaSuccess) return status;
    return ::cudaOccupancyMaxActiveClusters(clusters, reinterpret_cast<const void*>(found), config);
}
