/* Loads the library of kernels, and CUDA's driver, at run time: it is compiled and linked without CUDA. */
#include <dlfcn.h>
#include <stdio.h>

#include "kernels.h"

enum { N = 1000 };

/* Finds a function; the cast by way of an object pointer is POSIX's. */
#define LOAD(function, library, symbol) *(void**)&function = dlsym(library, symbol)

int main(void)
{
    int (*launch)(const kgen_array*, const kgen_array*, const kgen_array*, double, void*, size_t, struct CUstream_st*);
    const char* (*error_string)(int);
    int (*init)(unsigned);
    int (*retain)(void**, int);
    int (*set_current)(void*);
    int (*allocate)(unsigned long long*, size_t);
    int (*upload)(unsigned long long, const void*, size_t);
    int (*download)(void*, unsigned long long, size_t);

    void* kernels = dlopen("./libkernels.so", RTLD_NOW);
    void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (kernels == NULL || driver == NULL) return printf("%s\n", dlerror()), 2;
    LOAD(launch, kernels, "axpy_launch");
    LOAD(error_string, kernels, "axpy_error_string");
    LOAD(init, driver, "cuInit");
    LOAD(retain, driver, "cuDevicePrimaryCtxRetain");
    LOAD(set_current, driver, "cuCtxSetCurrent");
    LOAD(allocate, driver, "cuMemAlloc_v2");
    LOAD(upload, driver, "cuMemcpyHtoD_v2");
    LOAD(download, driver, "cuMemcpyDtoH_v2");

    void* context;
    if (init(0) != 0 || retain(&context, 0) != 0 || set_current(context) != 0) return printf("no device\n"), 2;
    float x[N], y[N], out[N] = {0};
    unsigned long long memory[3];
    for (int i = 0; i < N; ++i) x[i] = (float)i, y[i] = 1;
    for (int i = 0; i < 3; ++i) allocate(&memory[i], sizeof(x));
    upload(memory[0], x, sizeof(x));
    upload(memory[1], y, sizeof(y));

    const int64_t shape[] = {N};
    const kgen_dtype float32 = KGEN_FLOAT32;
    kgen_array arrays[3];
    for (int i = 0; i < 3; ++i) {
        const kgen_array one = {(void*)memory[i], 2, 0, 1, float32, shape, NULL, 0};
        arrays[i] = one;
    }
    const int status = launch(&arrays[0], &arrays[1], &arrays[2], 2.0, NULL, 0, NULL);
    if (status != KGEN_SUCCESS) return printf("axpy: %s\n", error_string(status)), 1;

    download(out, memory[2], sizeof(out));
    int wrong = 0;
    for (int i = 0; i < N; ++i) wrong += out[i] != 2 * x[i] + y[i];
    printf("%d wrong elements\n", wrong);
    return wrong == 0 ? 0 : 1;
}
