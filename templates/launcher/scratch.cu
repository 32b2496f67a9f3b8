// Scratch memory of a kernel, which becomes a pointer of any type.
struct Scratch {
    char* address;

    template <typename T>
    operator T*() const
    {
        return reinterpret_cast<T*>(address);
    }
};

// Counters begin at 0.  A kernel between others that start early takes less time than a memset.
template <typename Kernel>
static int zero(Kernel& kernel, const Scratch& counters, long long bytes, cudaStream_t stream)
{
    return launch(kernel, 1, 1, 256, true, stream, counters, bytes / 4);
}

static int check_workspace(void* workspace, size_t bytes, size_t needed)
{
    if (needed > 0 && (workspace == nullptr || bytes < needed)) return KGEN_SMALL_WORKSPACE;
    return reinterpret_cast<uintptr_t>(workspace) % 256 == 0 ? KGEN_SUCCESS : KGEN_MISALIGNED;
}
