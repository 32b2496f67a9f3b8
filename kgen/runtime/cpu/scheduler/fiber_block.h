// One block whose CUDA threads are fibers: they run in turn on one OS thread and change places at barriers.
#pragma once
#include "context_switch.h"
#include "failure.h"
#include "grid_barrier.h"
#include "kgen/abi.h"
#include "sanitizers.h"
#include "thread_order.h"

class FiberBlock {
 public:
  static constexpr unsigned max_threads = 1024, warp_size = 32, max_warps = max_threads / warp_size;

  // From the pool of earlier launches, with its stacks; null (and the failure set) if memory is short.
  static FiberBlock* acquire(const KgenKernel* kernel, const KgenLaunch& launch, Failure* failure, GridBarrier* grid);
  void release();
  // The block that this OS thread is running; null outside of kernels run as fibers.
  static FiberBlock* current();

  void run(ThreadOrder& order);

  // Called by the running CUDA thread.
  void barrier(int predicate, int line);
  void grid_barrier(int line);
  void warp(unsigned mask, KgenOperation operation, int line);
  void yield();
  // Whether the address is in the page below a stack, where only an overflow leads.
  bool is_below_a_stack(const void* address) const;
  unsigned live_lanes() const { return live_[current_ / warp_size]; }
  __attribute__((noreturn)) void fail(const char* why);

 private:
  enum State : unsigned char { runnable, at_barrier, at_warp, returned };
  static constexpr unsigned main_stack = max_threads;  // index of the OS thread's own stack

  bool reserve_stacks(unsigned threads);
  void create_fibers(const KgenLaunch& launch);
  static void fiber_main();
  void leave_thread();
  void switch_to(unsigned thread);
  void run_next();
  void complete_barrier();
  bool complete_warp(unsigned warp, unsigned mask);
  void complete_pending_warps(unsigned warp);
  void describe_waiters();

  const KgenKernel* kernel_;
  void** params_;
  Failure* failure_;
  GridBarrier* grid_;
  FiberBlock* next_in_pool_;

  unsigned threads_, alive_, arrived_, current_;
  int any_, all_, count_;
  bool ordered_, strict_;
  char released_;  // only its address is used, by ThreadSanitizer
  State state_[max_threads];
  uint3 index_[max_threads];
  unsigned order_[max_threads], position_[max_threads];  // used when not in order
  unsigned live_[max_warps], here_[max_warps];           // lanes that have not returned; lanes at a warp operation
  KgenLane* lanes_;

  StackPointer stack_[max_threads + 1];
  sanitizer::Stack sanitized_[max_threads + 1];
  char* memory_;
  unsigned capacity_;  // stacks mapped at memory_
};
