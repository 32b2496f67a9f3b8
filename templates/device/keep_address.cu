// Makes an address in global memory opaque to the compiler, which would add places first, and then each of them to the
// address of the array: several instructions for each load, which it may move behind arithmetic.
template <typename T>
static __device__ __forceinline__ T* keep_address(T* p)
{
#if defined(__CUDA_ARCH__)
    const void* address = p;  // NVVM compiles no assumption about a pointer to a struct
    asm("" : "+l"(address));
    __builtin_assume(__isGlobal(address));
    p = (T*)address;
#endif
    return p;
}
