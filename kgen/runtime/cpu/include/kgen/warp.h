// Warp shuffles, votes, matches and reductions.
#pragma once

namespace kgen {

inline unsigned lane_index() { return kgen_context.linear & 31; }

template <class T>
inline void deposit(T value) {
  static_assert(sizeof(T) <= sizeof(KgenLane::value), "a warp operation takes at most 16 bytes");
  memset(kgen_context.lane->value, 0, sizeof(KgenLane::value));
  memcpy(kgen_context.lane->value, &value, sizeof(T));
}

template <class T>
inline T collect() {
  T result;
  memcpy(&result, kgen_context.lane->result, sizeof(T));
  return result;
}

template <class T>
inline T shuffle(unsigned mask, T value, unsigned source, int line) {
  deposit(value);
  kgen_context.lane->source = source;
  kgen_warp(mask, KGEN_WARP_SHUFFLE, line);
  return collect<T>();
}

template <class T>
inline unsigned match(unsigned mask, T value, KgenOperation operation, int line) {
  deposit(value);
  kgen_warp(mask, operation, line);
  return collect<unsigned>();
}

}  // namespace kgen

template <class T>
inline T __shfl_sync(unsigned mask, T value, int source, int width = 32, KGEN_LINE) {
  unsigned segment = kgen::lane_index() & ~(unsigned)(width - 1);
  return kgen::shuffle(mask, value, segment | (source & (width - 1)), line);
}

template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, KGEN_LINE) {
  unsigned lane = kgen::lane_index(), source = lane ^ (unsigned)lane_mask, segment = ~(unsigned)(width - 1);
  return kgen::shuffle(mask, value, (source & segment) > (lane & segment) ? lane : source & 31, line);
}

template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, KGEN_LINE) {
  unsigned lane = kgen::lane_index(), place = lane & (unsigned)(width - 1);
  return kgen::shuffle(mask, value, place + delta < (unsigned)width ? lane + delta : lane, line);
}

template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, KGEN_LINE) {
  unsigned lane = kgen::lane_index(), place = lane & (unsigned)(width - 1);
  return kgen::shuffle(mask, value, place >= delta ? lane - delta : lane, line);
}

static inline unsigned __ballot_sync(unsigned mask, int predicate, KGEN_LINE) {
  kgen::deposit((unsigned char)(predicate != 0));
  kgen_warp(mask, KGEN_WARP_BALLOT, line);
  return kgen::collect<unsigned>();
}

static inline int __any_sync(unsigned mask, int predicate, KGEN_LINE) {
  return __ballot_sync(mask, predicate, line) != 0;
}

static inline int __all_sync(unsigned mask, int predicate, KGEN_LINE) {
  return __ballot_sync(mask, !predicate, line) == 0;
}

template <class T>
inline unsigned __match_any_sync(unsigned mask, T value, KGEN_LINE) {
  return kgen::match(mask, value, KGEN_WARP_MATCH_ANY, line);
}

template <class T>
inline unsigned __match_all_sync(unsigned mask, T value, int* same, KGEN_LINE) {
  unsigned lanes = kgen::match(mask, value, KGEN_WARP_MATCH_ALL, line);
  *same = lanes != 0;
  return lanes;
}

#define KGEN_WARP_REDUCTION(NAME, COMBINED)                                    \
  template <class T>                                                           \
  inline T __reduce_##NAME##_sync(unsigned mask, T value, KGEN_LINE) {         \
    T a = value;                                                               \
    for (unsigned lane = 0; lane < 32; lane++) {                               \
      T b = __shfl_sync(mask, value, (int)lane, 32, line);                     \
      if ((mask >> lane & 1) && lane != kgen::lane_index()) a = (T)(COMBINED); \
    }                                                                          \
    return a;                                                                  \
  }
KGEN_WARP_REDUCTION(add, (unsigned)a + (unsigned)b)  // of 32-bit integers; signed sums wrap
KGEN_WARP_REDUCTION(min, b < a ? b : a)
KGEN_WARP_REDUCTION(max, a < b ? b : a)
KGEN_WARP_REDUCTION(and, a& b)
KGEN_WARP_REDUCTION(or, a | b)
KGEN_WARP_REDUCTION(xor, a ^ b)
#undef KGEN_WARP_REDUCTION
