#include "fiber_block.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>

__thread KgenContext kgen_context;

namespace {

__thread FiberBlock* running __attribute__((tls_model("initial-exec")));

constexpr size_t guard_bytes = 4096;
constexpr size_t stack_bytes = sanitizer::active ? 128 << 10 : 64 << 10;
constexpr size_t slot_bytes = guard_bytes + stack_bytes;
// Equal strides would put the hot ends of all stacks in the same cache sets.
constexpr size_t stack_colour(unsigned thread) { return thread * 7 % 32 * 128; }
// Each guard page splits a mapping, and a process may have 65530 of them.
constexpr unsigned max_guarded = 16384;
unsigned guarded = 0;

pthread_mutex_t pool_mutex = PTHREAD_MUTEX_INITIALIZER;
FiberBlock* pool = nullptr;

const char* operation_names[] = {"__syncthreads", "__syncwarp", "a shuffle", "a vote", "a match", "a match"};

// A process forked during a launch has neither its threads nor their blocks.
void forget_pool() {
  pthread_mutex_init(&pool_mutex, nullptr);
  pool = nullptr;
}
__attribute__((constructor)) void watch_forks_of_pool() { pthread_atfork(nullptr, nullptr, forget_pool); }

inline unsigned lowest(unsigned lanes) { return (unsigned)__builtin_ctz(lanes); }

}  // namespace

bool FiberBlock::reserve_stacks(unsigned threads) {
  if (capacity_ >= threads) return true;
  if (capacity_) munmap(memory_, slot_bytes * capacity_);
  capacity_ = 0;
  void* memory = mmap(nullptr, slot_bytes * threads, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  memory_ = (char*)memory;
  capacity_ = threads;
  if (__atomic_add_fetch(&guarded, threads, __ATOMIC_RELAXED) <= max_guarded) {
    for (unsigned i = 0; i < threads; i++) mprotect(memory_ + slot_bytes * i, guard_bytes, PROT_NONE);
  }
  return true;
}

FiberBlock* FiberBlock::acquire(const KgenKernel* kernel, const KgenLaunch& launch, Failure* failure,
                                GridBarrier* grid) {
  pthread_mutex_lock(&pool_mutex);
  FiberBlock* block = pool;
  if (block) pool = block->next_in_pool_;
  pthread_mutex_unlock(&pool_mutex);
  unsigned threads = (unsigned)(launch.block[0] * launch.block[1] * launch.block[2]);
  if (!block) {
    void *memory, *lanes;
    if (posix_memalign(&memory, 64, sizeof(FiberBlock))) memory = nullptr;
    if (posix_memalign(&lanes, 64, max_threads * sizeof(KgenLane))) lanes = nullptr;
    if (memory && lanes) {
      block = (FiberBlock*)memory;
      block->lanes_ = (KgenLane*)lanes;
      block->capacity_ = 0;
    }
  }
  if (!block || !block->reserve_stacks(threads)) {
    if (failure->claim()) failure->say("out of memory for the stacks of a block of %u threads", threads);
    return nullptr;
  }
  block->kernel_ = kernel;
  block->params_ = launch.params;
  block->failure_ = failure;
  block->grid_ = grid;
  block->threads_ = threads;
  block->strict_ = getenv("KGEN_STRICT") != nullptr;
  block->create_fibers(launch);
  running = block;
  return block;
}

void FiberBlock::create_fibers(const KgenLaunch& launch) {
  unsigned width = (unsigned)launch.block[0], height = (unsigned)launch.block[1];
  sanitized_[main_stack].adopt_current();
  for (unsigned i = 0; i < threads_; i++) {
    index_[i] = {i % width, i / width % height, i / width / height};
    char* low = memory_ + slot_bytes * i + guard_bytes;
    stack_[i].start(low, low + stack_bytes - stack_colour(i), fiber_main);
    sanitized_[i].create(low, stack_bytes);
  }
}

void FiberBlock::release() {
  for (unsigned i = 0; i < threads_; i++) sanitized_[i].destroy();
  running = nullptr;
  pthread_mutex_lock(&pool_mutex);
  next_in_pool_ = pool;
  pool = this;
  pthread_mutex_unlock(&pool_mutex);
}

FiberBlock* FiberBlock::current() { return running; }

void FiberBlock::run(ThreadOrder& order) {
  memset(state_, runnable, threads_);
  alive_ = threads_;
  arrived_ = 0;
  any_ = count_ = 0;
  all_ = 1;
  current_ = main_stack;
  for (unsigned first = 0; first < threads_; first += warp_size) {
    unsigned lanes = threads_ - first;
    live_[first / warp_size] = lanes >= warp_size ? ~0u : (1u << lanes) - 1;
    here_[first / warp_size] = 0;
  }
  ordered_ = order.is_in_order();
  if (!ordered_) {
    order.fill(order_, threads_);
    for (unsigned i = 0; i < threads_; i++) position_[order_[i]] = i;
  }
  sanitizer::release(&threads_);
  switch_to(ordered_ ? 0 : order_[0]);
  sanitizer::acquire(&alive_);
}

// The life of a fiber: it runs its thread in one block after another, until it is abandoned.
void FiberBlock::fiber_main() {
  FiberBlock* block = running;
  sanitizer::entered(block->sanitized_[main_stack]);
  for (;;) {
    sanitizer::acquire(&block->threads_);
    block->kernel_->thread(block->params_);
    block->leave_thread();
  }
}

void FiberBlock::leave_thread() {
  unsigned warp = current_ / warp_size;
  state_[current_] = returned;
  alive_--;
  live_[warp] &= ~(1u << current_ % warp_size);
  sanitizer::release(&alive_);
  sanitizer::release(&arrived_);
  if (alive_ && arrived_ == alive_) complete_barrier();
  complete_pending_warps(warp);
  run_next();
}

void FiberBlock::switch_to(unsigned thread) {
  unsigned from = current_;
  current_ = thread;
  if (thread != main_stack) {
    kgen_context.thread = index_[thread];
    kgen_context.linear = thread;
    kgen_context.lane = &lanes_[thread];
  }
  sanitizer::before_switch(sanitized_[from], sanitized_[thread]);
  switch_stack(stack_[from], stack_[thread]);
  sanitizer::after_switch(sanitized_[from]);
}

// To the next thread that can go on, round robin; to the OS thread's stack when all have returned.
void FiberBlock::run_next() {
  if (!alive_) return switch_to(main_stack);
  unsigned position = ordered_ ? current_ : position_[current_];
  for (unsigned tried = 0; tried < threads_; tried++) {
    if (++position >= threads_) position = 0;
    unsigned thread = ordered_ ? position : order_[position];
    if (state_[thread] != runnable) continue;
    if (thread != current_) switch_to(thread);
    return;
  }
  fail("deadlock: the live threads wait at different barriers");
}

void FiberBlock::barrier(int predicate, int line) {
  any_ |= predicate != 0;
  all_ &= predicate != 0;
  count_ += predicate != 0;
  sanitizer::release(&arrived_);
  lanes_[current_].line = line;
  lanes_[current_].operation = KGEN_BARRIER;
  state_[current_] = at_barrier;
  if (++arrived_ == alive_) {
    complete_barrier();
  } else {
    run_next();
  }
  sanitizer::acquire(&released_);
}

void FiberBlock::complete_barrier() {
  int line = -1;
  for (unsigned i = 0; i < threads_; i++) {
    if (state_[i] != at_barrier) continue;
    if (line < 0) line = lanes_[i].line;
    if (lanes_[i].line != line) fail("divergent barrier: threads reached different __syncthreads() calls");
  }
  // Two variables: a thread that runs ahead to the next barrier must not seem ordered before those still to leave this.
  sanitizer::acquire(&arrived_);
  sanitizer::release(&released_);
  if (strict_ && alive_ != threads_) fail("strict mode: __syncthreads() after some threads of the block returned");
  for (unsigned i = 0; i < threads_; i++) {
    if (state_[i] == at_barrier) state_[i] = runnable;
  }
  arrived_ = 0;
  kgen_context.any = any_;
  kgen_context.all = all_;
  kgen_context.count = count_;
  any_ = count_ = 0;
  all_ = 1;
}

void FiberBlock::grid_barrier(int line) {
  if (!grid_) fail("a grid barrier without a cooperative launch");
  barrier(0, line);
  // The first live thread of the block waits for the other blocks; the rest wait for it below.
  bool chosen = true;
  for (unsigned i = 0; i < current_; i++) chosen &= state_[i] == returned;
  if (chosen && !grid_->wait()) fail("deadlock: a grid barrier waits for a block that has ended");
  barrier(0, line);
}

void FiberBlock::warp(unsigned mask, KgenOperation operation, int line) {
  unsigned warp = current_ / warp_size, lane = current_ % warp_size;
  if (!(mask >> lane & 1)) fail("a lane calls a warp operation without being in its mask");
  KgenLane& mailbox = lanes_[current_];
  sanitizer::release(mailbox.value);
  mailbox.operation = operation;
  mailbox.mask = mask;
  mailbox.line = line;
  state_[current_] = at_warp;
  here_[warp] |= 1u << lane;
  if (!complete_warp(warp, mask)) run_next();
  sanitizer::acquire(mailbox.result);
}

// If every live lane of the mask is here, computes all results and lets the lanes go.
//
// The last lane to arrive does the work of all, so partial and disjoint masks need no second meeting, and no lane can
// overwrite a value that another has yet to read.
bool FiberBlock::complete_warp(unsigned warp, unsigned mask) {
  unsigned need = mask & live_[warp];
  if (!need || (here_[warp] & need) != need) return false;
  KgenLane* lane = lanes_ + warp * warp_size;
  const KgenLane& first = lane[lowest(need)];
  for (unsigned rest = need; rest; rest &= rest - 1) {
    const KgenLane& other = lane[lowest(rest)];
    if (other.operation != first.operation || other.mask != mask) {
      fail("lanes of one warp mask are at different warp operations, or pass different masks");
    }
  }
  if (strict_ && need != mask) fail("strict mode: a warp mask names lanes that do not run");

  for (unsigned rest = need; rest; rest &= rest - 1) sanitizer::acquire(lane[lowest(rest)].value);
  for (unsigned rest = need; rest; rest &= rest - 1) sanitizer::release(lane[lowest(rest)].result);
  unsigned vote = 0;
  switch (first.operation) {
    case KGEN_WARP_SHUFFLE:
      for (unsigned rest = need; rest; rest &= rest - 1) {
        unsigned me = lowest(rest), from = lane[me].source;
        if (!(need >> from & 1)) {
          if (strict_) fail("strict mode: a shuffle reads a lane outside its mask");
          from = me;
        }
        memcpy(lane[me].result, lane[from].value, sizeof lane->result);
      }
      break;
    case KGEN_WARP_BALLOT:
      for (unsigned rest = need; rest; rest &= rest - 1) {
        if (lane[lowest(rest)].value[0]) vote |= 1u << lowest(rest);
      }
      for (unsigned rest = need; rest; rest &= rest - 1) memcpy(lane[lowest(rest)].result, &vote, sizeof vote);
      break;
    case KGEN_WARP_MATCH_ANY:
    case KGEN_WARP_MATCH_ALL:
      for (unsigned rest = need; rest; rest &= rest - 1) {
        unsigned me = lowest(rest), same = 0;
        for (unsigned others = need; others; others &= others - 1) {
          if (!memcmp(lane[me].value, lane[lowest(others)].value, sizeof lane->value)) same |= 1u << lowest(others);
        }
        if (first.operation == KGEN_WARP_MATCH_ALL && same != need) same = 0;
        memcpy(lane[me].result, &same, sizeof same);
      }
      break;
    default:
      break;
  }
  State* state = state_ + warp * warp_size;
  if (need == ~0u) {
    memset(state, runnable, warp_size);
  } else {
    for (unsigned rest = need; rest; rest &= rest - 1) state[lowest(rest)] = runnable;
  }
  here_[warp] &= ~need;
  return true;
}

// A lane has returned: groups that waited for it alone can go on.
void FiberBlock::complete_pending_warps(unsigned warp) {
  for (unsigned pending = here_[warp]; pending; pending &= pending - 1) {
    unsigned lane = lowest(pending);
    if (here_[warp] >> lane & 1) complete_warp(warp, lanes_[warp * warp_size + lane].mask);
  }
}

bool FiberBlock::is_below_a_stack(const void* address) const {
  uintptr_t offset = (uintptr_t)address - (uintptr_t)memory_;
  return offset < slot_bytes * capacity_ && offset % slot_bytes < guard_bytes;
}

void FiberBlock::yield() {
  // In a cooperative launch another block may have failed, and what this thread spins on may never come.
  if (failure_->happened()) fail("stopped");
  run_next();
  sched_yield();
}

// Abandons the block: back to the OS thread's stack, never to return here.
void FiberBlock::fail(const char* why) {
  if (failure_->claim()) {
    const KgenContext& at = kgen_context;
    failure_->say("%s, in block (%u,%u,%u)", why, at.block.x, at.block.y, at.block.z);
    describe_waiters();
  }
  sanitizer::release(&alive_);
  switch_to(main_stack);
  __builtin_unreachable();
}

// One clause per distinct place where threads wait, each with the first thread found there.
void FiberBlock::describe_waiters() {
  constexpr int most = 8;
  int lines[most], operations[most], shown = 0;
  for (unsigned i = 0; i < threads_ && shown < most; i++) {
    if (state_[i] != at_barrier && state_[i] != at_warp) continue;
    const KgenLane& lane = lanes_[i];
    bool known = false;
    for (int k = 0; k < shown; k++) known |= lines[k] == lane.line && operations[k] == lane.operation;
    if (known) continue;
    lines[shown] = lane.line;
    operations[shown++] = lane.operation;
    const uint3& at = index_[i];
    failure_->say("; thread (%u,%u,%u) waits at %s, line %d", at.x, at.y, at.z, operation_names[lane.operation],
                  lane.line);
  }
  failure_->say("; %u of %u threads have returned", threads_ - alive_, threads_);
}

void kgen_barrier(int predicate, int line) { running->barrier(predicate, line); }
void kgen_grid_barrier(int line) { running->grid_barrier(line); }
void kgen_warp(unsigned mask, KgenOperation operation, int line) { running->warp(mask, operation, line); }
unsigned kgen_live_lanes() { return running->live_lanes(); }
void kgen_yield() { running->yield(); }
