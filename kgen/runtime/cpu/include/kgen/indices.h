// threadIdx and its kin, and dynamic shared memory.
#pragma once

#if KGEN_FIBERS
#define threadIdx (kgen_context.thread)
#define blockIdx (kgen_context.block)
#define blockDim (kgen_context.block_dim)
#define gridDim (kgen_context.grid_dim)
static inline void* kgen_dynamic_shared() { return kgen_context.shared; }
#else
// Private to this text, so that the compiler knows all writers and keeps them in registers.
static thread_local uint3 threadIdx, blockIdx, blockDim, gridDim;
static thread_local unsigned char* kgen_shared;
static inline void* kgen_dynamic_shared() { return kgen_shared; }
#endif
