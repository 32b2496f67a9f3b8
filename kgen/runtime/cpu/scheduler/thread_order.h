// KGEN_SCHED: in which order threads and blocks run.  A correct kernel gives the same answer in every order.
#pragma once
#include <stdint.h>
#include <stdlib.h>

class ThreadOrder {
 public:
  // "0" or unset: in order.  "1": reversed.  Any other number: shuffled with that seed.
  static ThreadOrder from_environment() {
    const char* text = getenv("KGEN_SCHED");
    ThreadOrder order;
    order.seed_ = text ? (uint32_t)strtoul(text, nullptr, 10) : 0;
    order.kind_ = order.seed_ > 1 ? shuffled : order.seed_ == 1 ? reversed : in_order;
    return order;
  }

  bool is_in_order() const { return kind_ == in_order; }

  uint64_t block(uint64_t index, uint64_t total) const {
    if (kind_ == in_order) return index;
    if (kind_ == reversed) return total - 1 - index;
    // A step coprime to the total visits every block once.
    uint64_t step = (uint64_t)seed_ * 2654435761u % total | 1;
    while (common_divisor(step, total) != 1) step += 2;
    return (uint64_t)((unsigned __int128)step * index % total);
  }

  // A fresh permutation of 0..count-1, for one block.
  void fill(unsigned* threads, unsigned count) {
    for (unsigned i = 0; i < count; i++) threads[i] = kind_ == reversed ? count - 1 - i : i;
    if (kind_ != shuffled) return;
    for (unsigned i = count; i > 1; i--) {
      state_ = (state_ + seed_) * 1664525u + 1013904223u;
      unsigned other = (state_ >> 8) % i, held = threads[i - 1];
      threads[i - 1] = threads[other];
      threads[other] = held;
    }
  }

 private:
  static uint64_t common_divisor(uint64_t a, uint64_t b) {
    while (b) {
      uint64_t rest = a % b;
      a = b;
      b = rest;
    }
    return a;
  }

  enum Kind { in_order, reversed, shuffled };
  Kind kind_ = in_order;
  uint32_t seed_ = 0, state_ = 0;
};
