// The C interface between one compiled kernel and the scheduler library.
#pragma once
#include <stddef.h>
#include <stdint.h>

struct uint3 {
  unsigned x, y, z;
};

// What a CUDA thread deposits when it enters a barrier or a warp operation, and what it takes away.
struct alignas(64) KgenLane {
  unsigned char value[16];   // the operand, zero padded
  unsigned char result[16];  // written by the last lane to arrive
  unsigned source;           // shuffle: the lane to read
  unsigned mask;
  int line;  // of the .cu text, for reports
  unsigned char operation;
};

enum KgenOperation : unsigned char {
  KGEN_BARRIER,
  KGEN_WARP_SYNC,
  KGEN_WARP_SHUFFLE,
  KGEN_WARP_BALLOT,
  KGEN_WARP_MATCH_ANY,
  KGEN_WARP_MATCH_ALL,
};

// The state of the CUDA thread that this OS thread is running, for kernels run as fibers.
struct KgenContext {
  uint3 thread, block, block_dim, grid_dim;
  unsigned char* shared;
  KgenLane* lane;
  unsigned linear;      // index of the thread in its block
  int any, all, count;  // results of the last __syncthreads_or, _and, _count
};

struct KgenKernel {
  const char* name;
  // Kernels with barriers or warp operations: one CUDA thread, run in a fiber.
  void (*thread)(void** params);
  // All others: whole blocks, one thread after another, in the given order (null: in order).
  void (*blocks)(void** params, uint64_t first, uint64_t last, const uint3* grid, const uint3* block,
                 unsigned char* shared, const unsigned* order);
};

struct KgenLaunch {
  uint64_t grid[3], block[3], cluster[3];
  uint64_t shared;  // bytes of dynamic shared memory
  void** params;    // as cuLaunchKernel's kernelParams
  unsigned workers; // OS threads; 0 lets the scheduler choose
  unsigned cooperative;
};

#define KGEN_EXPORTED extern "C" __attribute__((visibility("default")))

extern "C" {
// initial-exec: one direct access per use, and safe in a signal handler.
extern __attribute__((visibility("default"), tls_model("initial-exec"))) __thread KgenContext kgen_context;
}

// Returns null, or an error text to be released with kgen_free_error.
KGEN_EXPORTED char* kgen_launch(const KgenKernel* kernel, const KgenLaunch* launch);
KGEN_EXPORTED void kgen_free_error(char* text);
KGEN_EXPORTED void kgen_barrier(int predicate, int line);
KGEN_EXPORTED void kgen_grid_barrier(int line);
KGEN_EXPORTED void kgen_warp(unsigned mask, KgenOperation operation, int line);
KGEN_EXPORTED unsigned kgen_live_lanes();
KGEN_EXPORTED void kgen_yield();
// Ends the launch with an error; does not return.
KGEN_EXPORTED __attribute__((noreturn)) void kgen_trap(const char* why, int line);
