// A launch: checks its shape, spreads the blocks over OS threads, gathers the first error.
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "failure.h"
#include "faults.h"
#include "fiber_block.h"
#include "grid_barrier.h"
#include "sanitizers.h"
#include "thread_order.h"

namespace {

constexpr uint64_t max_workers = 256;
constexpr uint64_t max_cooperative_blocks = 1024;
constexpr uint64_t max_shared = 227 << 10;        // of the largest GPU
constexpr uint64_t threads_worth_a_worker = 16384;  // below this a second OS thread costs more than it brings
constexpr size_t signal_stack_bytes = 64 << 10;

struct Job {
  const KgenKernel* kernel;
  const KgenLaunch* launch;
  uint64_t blocks, chunk, next;
  Failure failure;
  GridBarrier* grid;
};

struct Share {
  Job* job;
  bool one_block;  // of a cooperative launch; else chunks, until none are left
  uint64_t block;
};

uint3 narrow(const uint64_t* sizes) { return {(unsigned)sizes[0], (unsigned)sizes[1], (unsigned)sizes[2]}; }

class Worker {
 public:
  explicit Worker(const Share& share) : job_(*share.job), share_(share), order_(ThreadOrder::from_environment()) {}

  void run() {
    if (prepare()) {
      FaultGuard guard(&recovery_, signal_stack_, signal_stack_bytes);
      if (sigsetjmp(recovery_.point, 1) == 0) {
        recovery_.armed = 1;
        run_share();
        recovery_.armed = 0;
      } else {
        report_fault();
      }
    }
    if (job_.grid) job_.grid->leave();
    if (fibers_) fibers_->release();
    free(order_of_threads_);
    free(shared_);
    free(signal_stack_);
  }

 private:
  bool prepare() {
    const KgenLaunch& launch = *job_.launch;
    grid_ = narrow(launch.grid);
    block_ = narrow(launch.block);
    threads_ = block_.x * block_.y * block_.z;
    void* shared = nullptr;
    // The exact size, so that AddressSanitizer sees an overrun.
    if (launch.shared && posix_memalign(&shared, 128, launch.shared)) shared = nullptr;
    shared_ = (unsigned char*)shared;
    signal_stack_ = malloc(signal_stack_bytes);
    order_of_threads_ = (unsigned*)malloc(threads_ * sizeof(unsigned));
    if ((launch.shared && !shared_) || !signal_stack_ || !order_of_threads_) {
      if (job_.failure.claim()) job_.failure.say("out of memory for a worker");
      return false;
    }
    if (!job_.kernel->thread) return true;
    fibers_ = FiberBlock::acquire(job_.kernel, launch, &job_.failure, job_.grid);
    return fibers_ != nullptr;
  }

  void run_share() {
    if (share_.one_block) return run_blocks(share_.block, share_.block + 1);
    for (;;) {
      uint64_t first = __atomic_fetch_add(&job_.next, job_.chunk, __ATOMIC_RELAXED);
      if (first >= job_.blocks || job_.failure.happened()) return;
      uint64_t last = first + job_.chunk;
      run_blocks(first, last < job_.blocks ? last : job_.blocks);
    }
  }

  void run_blocks(uint64_t first, uint64_t last) {
    first_ = first;
    last_ = last;
    if (!fibers_ && order_.is_in_order()) {
      fill_shared();
      return job_.kernel->blocks(job_.launch->params, first, last, &grid_, &block_, shared_, nullptr);
    }
    for (uint64_t index = first; index < last && !job_.failure.happened(); index++) {
      uint64_t block = order_.block(index, job_.blocks);
      fill_shared();
      if (fibers_) {
        place(block);
        fibers_->run(order_);
      } else {
        order_.fill(order_of_threads_, threads_);
        job_.kernel->blocks(job_.launch->params, block, block + 1, &grid_, &block_, shared_, order_of_threads_);
      }
    }
  }

  void place(uint64_t block) {
    uint64_t row = block / grid_.x;
    kgen_context.block = {(unsigned)(block - row * grid_.x), (unsigned)(row % grid_.y), (unsigned)(row / grid_.y)};
    kgen_context.block_dim = block_;
    kgen_context.grid_dim = grid_;
    kgen_context.shared = shared_;
  }

  // All ones is NaN in every float type: a read before the first write shows.
  void fill_shared() {
    if (shared_) memset(shared_, 0xFF, job_.launch->shared);
  }

  void report_fault() {
    if (!job_.failure.claim()) return;
    Failure& failure = job_.failure;
    const bool overflow = !recovery_.reason && fibers_ && fibers_->is_below_a_stack(recovery_.address);
    failure.say("%s", overflow ? "stack overflow" : describe_fault(recovery_));
    if (recovery_.reason && recovery_.line) failure.say(", line %d", recovery_.line);
    if (!recovery_.reason && !overflow && recovery_.signal != SIGFPE) {
      failure.say(" at address %p", recovery_.address);
    }
    if (fibers_) {
      const KgenContext& at = kgen_context;
      failure.say(", in thread (%u,%u,%u) of block (%u,%u,%u)", at.thread.x, at.thread.y, at.thread.z, at.block.x,
                  at.block.y, at.block.z);
    } else {
      failure.say(", in one of the blocks %llu to %llu", (unsigned long long)first_, (unsigned long long)last_ - 1);
    }
  }

  Job& job_;
  const Share share_;
  ThreadOrder order_;
  Recovery recovery_;
  FiberBlock* fibers_ = nullptr;
  unsigned char* shared_ = nullptr;
  void* signal_stack_ = nullptr;
  unsigned* order_of_threads_ = nullptr;
  uint3 grid_, block_;
  unsigned threads_;
  uint64_t first_ = 0, last_ = 1;  // blocks in hand
};

void* run_worker(void* share) {
  Worker worker(*(Share*)share);
  worker.run();
  return nullptr;
}

// Null if the shape is one that a GPU takes.
const char* refuse(const KgenLaunch& launch) {
  const uint64_t *grid = launch.grid, *block = launch.block;
  for (int i = 0; i < 3; i++) {
    if (!grid[i] || !block[i]) return "a grid or block size is zero";
  }
  if (grid[0] > 0x7fffffff || grid[1] > 65535 || grid[2] > 65535) return "the grid is larger than a GPU takes";
  if (block[0] > 1024 || block[1] > 1024 || block[2] > 64 || block[0] * block[1] * block[2] > 1024) {
    return "the block is larger than a GPU takes (1024 threads, 64 in z)";
  }
  if (launch.shared > max_shared) return "more dynamic shared memory than a GPU has (227 KiB)";
  if (launch.cluster[0] != 1 || launch.cluster[1] != 1 || launch.cluster[2] != 1) {
    return "thread-block clusters do not run on the CPU target";
  }
  return nullptr;
}

uint64_t choose_workers(const KgenLaunch& launch, uint64_t blocks) {
  uint64_t threads = blocks * launch.block[0] * launch.block[1] * launch.block[2];
  uint64_t workers = launch.workers;
  if (!workers) {
    cpu_set_t allowed;
    bool known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
    long cores = known ? CPU_COUNT(&allowed) : sysconf(_SC_NPROCESSORS_ONLN);
    workers = threads < threads_worth_a_worker || cores < 1 ? 1 : (uint64_t)cores;
  }
  if (workers > blocks) workers = blocks;
  return workers < max_workers ? workers : max_workers;
}

// Runs the shares, the first on the calling thread; OS threads live for one launch, so a fork between launches is safe.
void run_shares(Job& job, Share* shares, uint64_t count) {
  pthread_t* threads = (pthread_t*)malloc(count * sizeof(pthread_t));
  uint64_t started = 1;
  for (; threads && started < count; started++) {
    if (pthread_create(&threads[started], nullptr, run_worker, &shares[started])) break;
  }
  if (started < count && job.grid) {
    // Blocks that wait for each other need a thread each; the others share the work among fewer.
    if (job.failure.claim()) job.failure.say("cannot start %llu OS threads", (unsigned long long)count);
    job.grid->leave();
  }
  run_worker(&shares[0]);
  for (uint64_t i = 1; i < started; i++) pthread_join(threads[i], nullptr);
  free(threads);
}

}  // namespace

char* kgen_launch(const KgenKernel* kernel, const KgenLaunch* launch) {
  if (const char* why = refuse(*launch)) return strdup(why);
  uint64_t blocks = launch->grid[0] * launch->grid[1] * launch->grid[2];
  Job job{kernel, launch, blocks, 1, 0, {}, nullptr};
  GridBarrier grid(blocks);
  uint64_t count = choose_workers(*launch, blocks);
  if (launch->cooperative) {
    if (blocks > max_cooperative_blocks) return strdup("a cooperative launch takes at most 1024 blocks");
    job.grid = &grid;
    count = blocks;
  }
  job.chunk = blocks / (count * 8) ? blocks / (count * 8) : 1;
  Share* shares = (Share*)malloc(count * sizeof(Share));
  if (!shares) return strdup("out of memory");
  for (uint64_t i = 0; i < count; i++) shares[i] = {&job, launch->cooperative != 0, i};
  install_fault_handlers();
  run_shares(job, shares, count);
  restore_fault_handlers();
  free(shares);
  return job.failure.take();
}

void kgen_free_error(char* text) { free(text); }

void kgen_trap(const char* why, int line) {
  if (FiberBlock* block = FiberBlock::current()) {
    char text[200];
    snprintf(text, sizeof text, "%s, line %d", why, line);
    block->fail(text);
  }
  Recovery* recovery = FaultGuard::current();
  recovery->armed = 0;
  recovery->reason = why;
  recovery->line = line;
  siglongjmp(recovery->point, 1);
}
