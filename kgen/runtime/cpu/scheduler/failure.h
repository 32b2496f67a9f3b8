// The first error of a launch, shared by its workers.
#pragma once
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

class Failure {
 public:
  bool happened() const { return __atomic_load_n(&claimed_, __ATOMIC_RELAXED); }

  // True for the one caller that may describe the error; later errors are consequences of the first.
  bool claim() { return !__atomic_exchange_n(&claimed_, true, __ATOMIC_SEQ_CST); }

  __attribute__((format(printf, 2, 3))) void say(const char* format, ...) {
    va_list args;
    va_start(args, format);
    int written = vsnprintf(text_ + used_, sizeof text_ - used_, format, args);
    va_end(args);
    if (written > 0) used_ += (size_t)written;
    if (used_ >= sizeof text_) used_ = sizeof text_ - 1;
  }

  // To be released with kgen_free_error; null if nothing failed.
  char* take() const { return claimed_ ? strdup(text_) : nullptr; }

 private:
  bool claimed_ = false;
  size_t used_ = 0;
  char text_[2000] = "";
};
