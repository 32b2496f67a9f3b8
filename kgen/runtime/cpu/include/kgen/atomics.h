// Atomics.  Blocks run on several OS threads, so these are real ones.
#pragma once

namespace kgen {

template <size_t Bytes>
struct WordOf;
template <>
struct WordOf<2> {
  typedef uint16_t type;
};
template <>
struct WordOf<4> {
  typedef uint32_t type;
};
template <>
struct WordOf<8> {
  typedef uint64_t type;
};

// Replaces *address by combine(*address), atomically, and returns what was there.
template <class T, class Combine>
inline T replace(T* address, Combine combine) {
  typedef typename WordOf<sizeof(T)>::type Word;
  Word* word = (Word*)address;
  Word old = __atomic_load_n(word, __ATOMIC_RELAXED);
  for (;;) {
    Word replacement = bits<Word>(combine(bits<T>(old)));
    if (__atomic_compare_exchange_n(word, &old, replacement, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      return bits<T>(old);
    }
  }
}

template <class T>
struct Same {
  typedef T type;  // keeps an argument out of template deduction
};

}  // namespace kgen

#define KGEN_ATOMIC(NAME, COMBINED)                                    \
  template <class T>                                                   \
  inline T NAME(T* address, typename kgen::Same<T>::type value) {      \
    return kgen::replace(address, [&](T old) { return T(COMBINED); }); \
  }
KGEN_ATOMIC(atomicAdd, old + value)
KGEN_ATOMIC(atomicSub, old - value)
KGEN_ATOMIC(atomicMin, value < old ? value : old)
KGEN_ATOMIC(atomicMax, old < value ? value : old)
KGEN_ATOMIC(atomicAnd, old& value)
KGEN_ATOMIC(atomicOr, old | value)
KGEN_ATOMIC(atomicXor, old ^ value)
#undef KGEN_ATOMIC

// Signed integers wrap.
static inline int atomicAdd(int* address, int value) { return __atomic_fetch_add(address, value, __ATOMIC_RELAXED); }
static inline int atomicSub(int* address, int value) { return __atomic_fetch_sub(address, value, __ATOMIC_RELAXED); }

template <class T>
inline T atomicExch(T* address, typename kgen::Same<T>::type value) {
  return kgen::replace(address, [&](T) { return value; });
}

template <class T>
inline T atomicCAS(T* address, typename kgen::Same<T>::type compare, typename kgen::Same<T>::type value) {
  typedef typename kgen::WordOf<sizeof(T)>::type Word;
  Word expected = kgen::bits<Word>(compare);
  __atomic_compare_exchange_n((Word*)address, &expected, kgen::bits<Word>(value), false, __ATOMIC_SEQ_CST,
                              __ATOMIC_SEQ_CST);
  return kgen::bits<T>(expected);
}

static inline unsigned atomicInc(unsigned* address, unsigned limit) {
  return kgen::replace(address, [&](unsigned old) { return old >= limit ? 0u : old + 1; });
}

static inline unsigned atomicDec(unsigned* address, unsigned limit) {
  return kgen::replace(address, [&](unsigned old) { return old == 0 || old > limit ? limit : old - 1; });
}
