// Barriers of a block, of a warp and of a cooperative grid.  The default argument is the line of the caller.
#pragma once

#define KGEN_LINE int line = __builtin_LINE()

static inline void __syncthreads(KGEN_LINE) { kgen_barrier(0, line); }

static inline int __syncthreads_or(int predicate, KGEN_LINE) {
  kgen_barrier(predicate, line);
  return kgen_context.any;
}

static inline int __syncthreads_and(int predicate, KGEN_LINE) {
  kgen_barrier(predicate, line);
  return kgen_context.all;
}

static inline int __syncthreads_count(int predicate, KGEN_LINE) {
  kgen_barrier(predicate, line);
  return kgen_context.count;
}

static inline void __syncwarp(unsigned mask = ~0u, KGEN_LINE) { kgen_warp(mask, KGEN_WARP_SYNC, line); }

static inline unsigned __activemask() { return kgen_live_lanes(); }

// A thread that waits for another thread of its block lets it run.
static inline void __nanosleep(unsigned) { kgen_yield(); }
