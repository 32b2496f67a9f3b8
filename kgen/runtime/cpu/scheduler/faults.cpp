#include "faults.h"

#include <pthread.h>
#include <string.h>

#include "sanitizers.h"

namespace {

__thread Recovery* current_recovery __attribute__((tls_model("initial-exec")));

constexpr int caught[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr int caught_count = sizeof caught / sizeof *caught;
struct sigaction former[caught_count];
pthread_mutex_t install_mutex = PTHREAD_MUTEX_INITIALIZER;
int launches = 0;

// A process forked during a launch inherits the handlers, but no launch that would take them down.
void forget_launches() {
  pthread_mutex_init(&install_mutex, nullptr);
  if (launches == 0) return;
  launches = 0;
  for (int i = 0; i < caught_count; i++) sigaction(caught[i], &former[i], nullptr);
}
__attribute__((constructor)) void watch_forks_of_handlers() { pthread_atfork(nullptr, nullptr, forget_launches); }

void pass_on(int signal, siginfo_t* info, void* machine) {
  for (int i = 0; i < caught_count; i++) {
    if (caught[i] != signal) continue;
    const struct sigaction& old = former[i];
    if (old.sa_flags & SA_SIGINFO) return old.sa_sigaction(signal, info, machine);
    if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN) return old.sa_handler(signal);
    sigaction(signal, &old, nullptr);  // the faulting instruction runs again and meets the default
  }
}

void on_fault(int signal, siginfo_t* info, void* machine) {
  Recovery* recovery = current_recovery;
  // Faults carry a positive code; a signal sent by kill() is not ours.
  if (!recovery || !recovery->armed || info->si_code <= 0) return pass_on(signal, info, machine);
  recovery->armed = 0;
  recovery->signal = signal;
  recovery->address = info->si_addr;
  siglongjmp(recovery->point, 1);
}

}  // namespace

void install_fault_handlers() {
  if (sanitizer::active) return;
  pthread_mutex_lock(&install_mutex);
  if (launches++ == 0) {
    struct sigaction ours;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = on_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    for (int i = 0; i < caught_count; i++) sigaction(caught[i], &ours, &former[i]);
  }
  pthread_mutex_unlock(&install_mutex);
}

void restore_fault_handlers() {
  if (sanitizer::active) return;
  pthread_mutex_lock(&install_mutex);
  if (--launches == 0) {
    for (int i = 0; i < caught_count; i++) {
      struct sigaction now;
      sigaction(caught[i], nullptr, &now);
      // Someone who installed a handler during the launch keeps it.
      if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_fault) sigaction(caught[i], &former[i], nullptr);
    }
  }
  pthread_mutex_unlock(&install_mutex);
}

FaultGuard::FaultGuard(Recovery* recovery, void* stack, size_t bytes) {
  recovery->armed = 0;
  recovery->signal = 0;
  recovery->reason = nullptr;
  current_recovery = recovery;
  if (sanitizer::active) return;
  stack_t ours;
  memset(&ours, 0, sizeof ours);
  ours.ss_sp = stack;
  ours.ss_size = bytes;
  sigaltstack(&ours, &former_);
}

FaultGuard::~FaultGuard() {
  current_recovery = nullptr;
  if (!sanitizer::active) sigaltstack(&former_, nullptr);
}

Recovery* FaultGuard::current() { return current_recovery; }

const char* describe_fault(const Recovery& recovery) {
  if (recovery.reason) return recovery.reason;
  switch (recovery.signal) {
    case SIGSEGV: return "invalid or misaligned memory access";
    case SIGBUS: return "misaligned or unmapped memory access";
    case SIGFPE: return "integer division by zero";
    default: return "trap or illegal instruction";
  }
}
