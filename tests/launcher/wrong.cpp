// Calls launchers with every argument wrong in turn, and with random ones.  Built with sanitizers; kernels do not run.
#define KGEN_FIBERS 1
#define __CUDACC__
#include "kgen_cpu.h"

#include PROGRAM


// In place of the scheduler.
__thread KgenContext kgen_context;
char* kgen_launch(const KgenKernel*, const KgenLaunch*) { abort(); }
void kgen_barrier(int, int) { abort(); }
void kgen_grid_barrier(int) { abort(); }
void kgen_warp(unsigned, KgenOperation, int) { abort(); }
unsigned kgen_live_lanes() { abort(); }
void kgen_yield() { abort(); }
void kgen_trap(const char*, int) { abort(); }

static uint64_t state = 42;
static uint64_t draw() { return (state = state * 6364136223846793005ull + 1442695040888963407ull) >> 33; }

// An extreme number, or a usual one.
static int64_t number() {
  static const int64_t some[] = {0, 1, -1, 2, 3, 7, 8, 64, INT64_MAX, INT64_MIN, INT64_MAX / 2, 1ll << 31, 1ll << 48};
  return some[draw() % (sizeof(some) / sizeof(*some))];
}

static int counts[16];

static int called(int status, int arrays) {
  if (status < 0 || status % 256 > KGEN_SMALL_WORKSPACE || status / 256 > arrays) {
    printf("status %d\n", status);
    exit(1);
  }
  if (!LAUNCHER(error_string)(status)[0]) exit(1);
  counts[status % 256]++;
  return status;
}

int main(int, char** arguments) {
  state = strtoull(arguments[1], nullptr, 10);
  only_records = 1;
  alignas(256) static char memory[ARRAYS + 1][1 << 16];
  const kgen_dtype dtypes[] = {DTYPES};
  for (int round = 0; round < ROUNDS; ++round) {
    kgen_array arrays[ARRAYS];
    int64_t shapes[ARRAYS][16], strides[ARRAYS][16];
    const kgen_array* given[ARRAYS];
    // Mostly ranks that the program takes, of shapes that broadcast.
    static const int ranks[] = {RANKS};
    const bool usual = draw() % 4 != 0;
    const int one = (int)(draw() % 4);
    int64_t shape[16];
    for (int64_t& n : shape) n = (int64_t)(draw() % 10);
    if (draw() % 2) shape[0] = 8;  // of the fastest axis, where programs have a certain one
    for (int i = 0; i < ARRAYS; ++i) {
      const int rank = usual ? (ranks[i] < 0 ? one : ranks[i]) : (int)(draw() % 9);
      for (int d = 0; d < 16; ++d) {
        const bool broadcast = draw() % 8 == 0;
        shapes[i][d] = broadcast || d >= rank ? 1 : shape[rank - 1 - d];
        strides[i][d] = 1 + (int64_t)(draw() % 9);
      }
      arrays[i] = {memory[i], 2, 0, rank, dtypes[i], shapes[i], draw() % 2 ? strides[i] : nullptr, 0};
      given[i] = &arrays[i];
    }
    // Each round changes one thing, or a few.
    for (uint64_t changes = draw() % 4; changes > 0; --changes) {
      const int i = (int)(draw() % ARRAYS);
      switch (draw() % 10) {
        case 0: given[i] = nullptr; break;
        case 1: arrays[i].data = nullptr; break;
        case 2: arrays[i].ndim = (int32_t)number(); break;
        case 3: arrays[i].dtype.code ^= (uint8_t)(1 + draw() % 3); break;
        case 4: arrays[i].dtype.lanes = 4; break;
        case 5: arrays[i].shape = draw() % 2 ? nullptr : shapes[(i + 1) % ARRAYS]; break;
        case 6: shapes[i][draw() % 4] = number(); break;
        case 7: strides[i][draw() % 4] = number(); arrays[i].strides = strides[i]; break;
        case 8: arrays[i].byte_offset = draw() % 40; break;
        default: arrays[i].data = memory[draw() % (ARRAYS + 1)]; break;
      }
    }
    // No rank beyond what the arrays above have room for is read.
    size_t bytes = 0;
    const int status = called(LAUNCHER(workspace_size)(GIVEN, &bytes), ARRAYS);
    if (status == KGEN_SUCCESS && bytes > 0) {
      called(LAUNCHER(launch)(GIVEN, SCALARS nullptr, bytes, nullptr), ARRAYS);
      called(LAUNCHER(launch)(GIVEN, SCALARS memory[ARRAYS], bytes - 1, nullptr), ARRAYS);
      called(LAUNCHER(launch)(GIVEN, SCALARS memory[ARRAYS] + 1, bytes, nullptr), ARRAYS);
    }
    called(LAUNCHER(launch)(GIVEN, SCALARS memory[ARRAYS], SIZE_MAX, nullptr), ARRAYS);
  }
  for (int status = 0; status <= KGEN_SMALL_WORKSPACE; ++status) printf("%d ", counts[status]);
  return 0;
}
