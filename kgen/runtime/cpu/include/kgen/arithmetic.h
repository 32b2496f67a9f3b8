// Arithmetic that names its rounding, saturation, min and max.
#pragma once

namespace kgen {

// a + b, rounded to odd; the error of a double sum is itself a double (Knuth).
inline double add_to_odd(double a, double b) {
  const double sum = a + b, b_part = sum - a, error = (a - (sum - b_part)) + (b - b_part);
  return to_odd(sum, error);
}

inline double divide_to_odd(double a, double b) {
  const double quotient = a / b, remainder = fma(-quotient, b, a);
  return to_odd(quotient, b < 0 ? -remainder : remainder);
}

inline double sqrt_to_odd(double x) {
  const double root = sqrt(x);
  return to_odd(root, fma(-root, root, x));
}

// A NaN loses, and -0.0 is below +0.0, as in the instructions min.f32 and min.f64.
inline float lesser(float a, float b) {
  if (a == b) return bits<float>(bits<unsigned>(a) | bits<unsigned>(b));
  return a < b || b != b ? a : b;
}
inline double lesser(double a, double b) {
  if (a == b) return bits<double>(bits<uint64_t>(a) | bits<uint64_t>(b));
  return a < b || b != b ? a : b;
}
inline double lesser(float a, double b) { return lesser((double)a, b); }
inline double lesser(double a, float b) { return lesser(a, (double)b); }
template <class A, class B>
inline auto greater(A a, B b) {
  return -lesser(-a, -b);
}

}  // namespace kgen

// In double, the product of two floats is exact, and the others are exact but for the last bit.
#define KGEN_DIRECTED(MODE)                                                                                           \
  static inline float __fadd_##MODE(float a, float b) { return kgen::to_float(kgen::add_to_odd(a, b), kgen::MODE); }  \
  static inline float __fsub_##MODE(float a, float b) { return kgen::to_float(kgen::add_to_odd(a, -b), kgen::MODE); } \
  static inline float __fmul_##MODE(float a, float b) { return kgen::to_float((double)a * b, kgen::MODE); }           \
  static inline float __fdiv_##MODE(float a, float b) {                                                               \
    return kgen::to_float(kgen::divide_to_odd(a, b), kgen::MODE);                                                     \
  }                                                                                                                   \
  static inline float __frcp_##MODE(float x) { return __fdiv_##MODE(1.0f, x); }                                       \
  static inline float __fsqrt_##MODE(float x) { return kgen::to_float(kgen::sqrt_to_odd(x), kgen::MODE); }            \
  static inline float __fmaf_##MODE(float a, float b, float c) {                                                      \
    return kgen::to_float(kgen::add_to_odd((double)a * b, c), kgen::MODE);                                            \
  }
KGEN_DIRECTED(rz)
KGEN_DIRECTED(ru)
KGEN_DIRECTED(rd)
#undef KGEN_DIRECTED

// To nearest: the build forbids contraction, so plain operators are these.
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __frcp_rn(float x) { return 1.0f / x; }
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
static inline float __frsqrt_rn(float x) { return (float)(1.0 / sqrt((double)x)); }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dsub_rn(double a, double b) { return a - b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline double __ddiv_rn(double a, double b) { return a / b; }
static inline double __drcp_rn(double x) { return 1.0 / x; }
static inline double __dsqrt_rn(double x) { return sqrt(x); }
static inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }

static inline float __fdividef(float a, float b) { return a / b; }
static inline float fdividef(float a, float b) { return a / b; }
static inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }  // NaN gives 0
// A template, so that a text may have a function of this name.
template <class T>
inline float saturate(T x) {
  return __saturatef(x);
}

// CUDA's min and max: of two integers, the usual conversions decide the type; of two floats, a NaN loses.
#define KGEN_MIN_MAX(T)                                            \
  static inline T min(T a, T b) { return b < a ? b : a; }          \
  static inline T max(T a, T b) { return a < b ? b : a; }
KGEN_MIN_MAX(int)
KGEN_MIN_MAX(unsigned)
KGEN_MIN_MAX(long)
KGEN_MIN_MAX(unsigned long)
KGEN_MIN_MAX(long long)
KGEN_MIN_MAX(unsigned long long)
#undef KGEN_MIN_MAX
#define KGEN_MIXED_MIN_MAX(SIGNED, UNSIGNED)                                               \
  static inline UNSIGNED min(SIGNED a, UNSIGNED b) { return min((UNSIGNED)a, b); }         \
  static inline UNSIGNED min(UNSIGNED a, SIGNED b) { return min(a, (UNSIGNED)b); }         \
  static inline UNSIGNED max(SIGNED a, UNSIGNED b) { return max((UNSIGNED)a, b); }         \
  static inline UNSIGNED max(UNSIGNED a, SIGNED b) { return max(a, (UNSIGNED)b); }
KGEN_MIXED_MIN_MAX(int, unsigned)
KGEN_MIXED_MIN_MAX(long long, unsigned long long)
#undef KGEN_MIXED_MIN_MAX
static inline float min(float a, float b) { return kgen::lesser(a, b); }
static inline float max(float a, float b) { return kgen::greater(a, b); }
static inline double min(double a, double b) { return kgen::lesser(a, b); }
static inline double max(double a, double b) { return kgen::greater(a, b); }
