// CUDA's declaration qualifiers.
#pragma once

#define __host__
#define __device__
#define __global__ inline  // a kernel that can be inlined into the loop over its threads
#define __constant__ static
#define __managed__
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))

#if defined(KGEN_STATIC_SHARED)
// Sanitizer builds run blocks on one OS thread: AddressSanitizer puts redzones around a static, not a thread_local.
#define __shared__ static
#else
// One OS thread runs one block at a time.  At block scope, thread_local implies static.
#define __shared__ thread_local
#endif

static constexpr int warpSize = 32;
