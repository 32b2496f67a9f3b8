// Loads and stores with cache hints (the hint means nothing here), fences, traps, clocks.
#pragma once

#define KGEN_LOAD(NAME)               \
  template <class T>                  \
  inline T NAME(const T* address) {   \
    return *address;                  \
  }
KGEN_LOAD(__ldg)
KGEN_LOAD(__ldca)
KGEN_LOAD(__ldcg)
KGEN_LOAD(__ldcs)
KGEN_LOAD(__ldcv)
KGEN_LOAD(__ldlu)
#undef KGEN_LOAD

#define KGEN_STORE(NAME)                     \
  template <class T, class V>                \
  inline void NAME(T* address, V value) {    \
    *address = value;                        \
  }
KGEN_STORE(__stwb)
KGEN_STORE(__stcg)
KGEN_STORE(__stcs)
KGEN_STORE(__stwt)
#undef KGEN_STORE

static inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

static inline void __trap(int line = __builtin_LINE()) { kgen_trap("__trap", line); }
#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) ((condition) ? (void)0 : kgen_trap("assertion failed: " #condition, __LINE__))
#endif
#define __builtin_assume(condition) ((void)0)

static inline long long clock64() {
#if defined(__x86_64__)
  return (long long)__builtin_ia32_rdtsc();
#else
  return 0;
#endif
}
