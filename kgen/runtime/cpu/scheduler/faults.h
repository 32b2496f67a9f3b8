// Turns a fault inside a kernel (bad pointer, division by zero, trap) into an error of the launch.
//
// The signal handlers stand only while a launch runs, act only on threads that are inside a kernel, and pass every
// other signal on to whoever had the handler before.  Sanitizer builds leave the signals to the sanitizer.
#pragma once
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

// Where a worker goes on after a fault, and what the fault was.
struct Recovery {
  sigjmp_buf point;
  volatile sig_atomic_t armed;
  int signal;
  void* address;
  const char* reason;  // of kgen_trap, else null
  int line;
};

// Counts the launches in progress; the first installs the handlers, the last restores the former ones.
void install_fault_handlers();
void restore_fault_handlers();

// The worker's own signal stack (a fiber that overflowed its stack has none left), and its recovery point.
class FaultGuard {
 public:
  FaultGuard(Recovery* recovery, void* stack, size_t bytes);
  ~FaultGuard();
  static Recovery* current();

 private:
  stack_t former_;
};

const char* describe_fault(const Recovery& recovery);
