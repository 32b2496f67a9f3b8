// What AddressSanitizer and ThreadSanitizer must be told about fibers; nothing at all in a plain build.
#pragma once
#include <stddef.h>

#if defined(KGEN_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(KGEN_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#endif

namespace sanitizer {

#if defined(KGEN_ADDRESS_SANITIZER) || defined(KGEN_THREAD_SANITIZER)
constexpr bool active = true;
#else
constexpr bool active = false;
#endif

// ThreadSanitizer learns the order that a barrier makes from a release before it and an acquire after it.
inline void release(void* what) {
#if defined(KGEN_THREAD_SANITIZER)
  __tsan_release(what);
#endif
  (void)what;
}

inline void acquire(void* what) {
#if defined(KGEN_THREAD_SANITIZER)
  __tsan_acquire(what);
#endif
  (void)what;
}

// One fiber, or the OS thread's own stack, as the sanitizers see it.
struct Stack {
#if defined(KGEN_ADDRESS_SANITIZER)
  void* fake = nullptr;
  const void* bottom = nullptr;
  size_t size = 0;
#endif
#if defined(KGEN_THREAD_SANITIZER)
  void* fiber = nullptr;
#endif

  void adopt_current() {
#if defined(KGEN_ADDRESS_SANITIZER)
    bottom = nullptr;  // learnt at the first switch away
#endif
#if defined(KGEN_THREAD_SANITIZER)
    fiber = __tsan_get_current_fiber();
#endif
  }

  void create(void* low, size_t bytes) {
#if defined(KGEN_ADDRESS_SANITIZER)
    bottom = low;
    size = bytes;
    fake = nullptr;
    __asan_unpoison_memory_region(low, bytes);  // a fiber abandoned earlier left its redzones
#endif
#if defined(KGEN_THREAD_SANITIZER)
    fiber = __tsan_create_fiber(0);
#endif
    (void)low, (void)bytes;
  }

  void destroy() {
#if defined(KGEN_THREAD_SANITIZER)
    __tsan_destroy_fiber(fiber);
#endif
  }
};

inline void before_switch(Stack& from, Stack& to) {
#if defined(KGEN_THREAD_SANITIZER)
  // no_sync: a switch orders nothing, or every race inside a block would be hidden.
  __tsan_switch_to_fiber(to.fiber, __tsan_switch_to_fiber_no_sync);
#endif
#if defined(KGEN_ADDRESS_SANITIZER)
  __sanitizer_start_switch_fiber(&from.fake, to.bottom, to.size);
#endif
  (void)from, (void)to;
}

inline void after_switch(Stack& resumed) {
#if defined(KGEN_ADDRESS_SANITIZER)
  __sanitizer_finish_switch_fiber(resumed.fake, nullptr, nullptr);
#endif
  (void)resumed;
}

// First thing on a new fiber: where it came from is the stack of the OS thread, if that is not yet known.
inline void entered(Stack& main) {
#if defined(KGEN_ADDRESS_SANITIZER)
  const void* bottom;
  size_t size;
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &size);
  if (!main.bottom) {
    main.bottom = bottom;
    main.size = size;
  }
#endif
  (void)main;
}

}  // namespace sanitizer
