// Switching between stacks: 16 instructions by hand where we know the CPU, ucontext elsewhere (20 times slower).
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if !defined(KGEN_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#define KGEN_UCONTEXT 1
#endif

#if defined(KGEN_UCONTEXT)
#include <ucontext.h>

struct StackPointer {
  ucontext_t context;

  void start(char* low, char* top, void (*entry)()) {
    getcontext(&context);
    context.uc_stack.ss_sp = low;
    context.uc_stack.ss_size = (size_t)(top - low);
    context.uc_link = nullptr;
    makecontext(&context, entry, 0);
  }
};

inline void switch_stack(StackPointer& from, StackPointer& to) { swapcontext(&from.context, &to.context); }

#else

// Saves the callee-saved registers on the current stack, stores its address in *from, and resumes to.
extern "C" void kgen_switch_stack(void** from, void* to);

struct StackPointer {
  void* address;

  void start(char* low, char* top, void (*entry)());
};

inline void switch_stack(StackPointer& from, StackPointer& to) { kgen_switch_stack(&from.address, to.address); }

#if defined(__x86_64__)
asm(R"(
.text
.p2align 4
.globl kgen_switch_stack
.hidden kgen_switch_stack
.type kgen_switch_stack, @function
kgen_switch_stack:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  pop %rcx
  jmp *%rcx
.size kgen_switch_stack, .-kgen_switch_stack
)");

inline void StackPointer::start(char*, char* top, void (*entry)()) {
  // As a call would leave it: 16-byte aligned before the (null) return address.
  void** stack = (void**)((uintptr_t)top & ~(uintptr_t)63);
  *--stack = nullptr;
  *--stack = (void*)entry;
  for (int saved = 0; saved < 6; saved++) *--stack = nullptr;
  address = stack;
}

#else  // __aarch64__
asm(R"(
.text
.p2align 4
.globl kgen_switch_stack
.hidden kgen_switch_stack
.type kgen_switch_stack, %function
kgen_switch_stack:
  stp x29, x30, [sp, #-160]!
  stp x19, x20, [sp, #16]
  stp x21, x22, [sp, #32]
  stp x23, x24, [sp, #48]
  stp x25, x26, [sp, #64]
  stp x27, x28, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #16]
  ldp x21, x22, [sp, #32]
  ldp x23, x24, [sp, #48]
  ldp x25, x26, [sp, #64]
  ldp x27, x28, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  ldp x29, x30, [sp], #160
  ret
.size kgen_switch_stack, .-kgen_switch_stack
)");

inline void StackPointer::start(char*, char* top, void (*entry)()) {
  constexpr size_t frame = 160;
  char* stack = (char*)((uintptr_t)top & ~(uintptr_t)63) - frame;
  memset(stack, 0, frame);
  ((void**)stack)[1] = (void*)entry;  // x30, where ret goes
  address = stack;
}
#endif
#endif
