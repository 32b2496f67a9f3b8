// __float2int_rz, __ll2float_ru and their many kin.
#pragma once

namespace kgen {

inline float to_integral(float x, Rounding mode) {
  return mode == rn ? rintf(x) : mode == rz ? truncf(x) : mode == ru ? ceilf(x) : floorf(x);
}

inline double to_integral(double x, Rounding mode) {
  return mode == rn ? rint(x) : mode == rz ? trunc(x) : mode == ru ? ceil(x) : floor(x);
}

// Out of range gives the nearest integer there is.  NaN gives 0, or the top bit if either side is 64 bits wide (PTX).
template <class Integer, class Float>
inline Integer to_integer(Float x, Rounding mode) {
  constexpr int width = 8 * sizeof(Integer);
  constexpr bool is_signed = (Integer)-1 < (Integer)0;
  constexpr unsigned long long top = 1ull << (width - 1);
  constexpr Float limit = (Float)top * (is_signed ? 1 : 2);  // the first value too large
  if (x != x) return sizeof(Integer) == 8 || sizeof(Float) == 8 ? (Integer)top : (Integer)0;
  x = to_integral(x, mode);
  if (x >= limit) return (Integer)(is_signed ? top - 1 : top - 1 + top);
  if (x < (is_signed ? -limit : (Float)0)) return (Integer)(is_signed ? top : 0);
  return (Integer)x;
}

}  // namespace kgen

#define KGEN_TO_INTEGER(MODE)                                                                                       \
  static inline int __float2int_##MODE(float x) { return kgen::to_integer<int>(x, kgen::MODE); }                    \
  static inline unsigned __float2uint_##MODE(float x) { return kgen::to_integer<unsigned>(x, kgen::MODE); }         \
  static inline long long __float2ll_##MODE(float x) { return kgen::to_integer<long long>(x, kgen::MODE); }         \
  static inline unsigned long long __float2ull_##MODE(float x) {                                                    \
    return kgen::to_integer<unsigned long long>(x, kgen::MODE);                                                     \
  }                                                                                                                 \
  static inline int __double2int_##MODE(double x) { return kgen::to_integer<int>(x, kgen::MODE); }                  \
  static inline unsigned __double2uint_##MODE(double x) { return kgen::to_integer<unsigned>(x, kgen::MODE); }       \
  static inline long long __double2ll_##MODE(double x) { return kgen::to_integer<long long>(x, kgen::MODE); }       \
  static inline unsigned long long __double2ull_##MODE(double x) {                                                  \
    return kgen::to_integer<unsigned long long>(x, kgen::MODE);                                                     \
  }
KGEN_TO_INTEGER(rn)
KGEN_TO_INTEGER(rz)
KGEN_TO_INTEGER(ru)
KGEN_TO_INTEGER(rd)
#undef KGEN_TO_INTEGER

#define KGEN_TO_FLOAT(MODE)                                                                                      \
  static inline float __int2float_##MODE(int x) { return kgen::to_float(x, kgen::MODE); }                        \
  static inline float __uint2float_##MODE(unsigned x) { return kgen::to_float(x, kgen::MODE); }                  \
  static inline float __ll2float_##MODE(long long x) { return kgen::to_float(kgen::to_odd(x), kgen::MODE); }     \
  static inline float __ull2float_##MODE(unsigned long long x) {                                                 \
    return kgen::to_float(kgen::to_odd(x), kgen::MODE);                                                          \
  }                                                                                                              \
  static inline float __double2float_##MODE(double x) { return kgen::to_float(x, kgen::MODE); }
// To nearest is what the CPU does by itself.
static inline float __int2float_rn(int x) { return (float)x; }
static inline float __uint2float_rn(unsigned x) { return (float)x; }
static inline float __ll2float_rn(long long x) { return (float)x; }
static inline float __ull2float_rn(unsigned long long x) { return (float)x; }
static inline float __double2float_rn(double x) { return (float)x; }
KGEN_TO_FLOAT(rz)
KGEN_TO_FLOAT(ru)
KGEN_TO_FLOAT(rd)
#undef KGEN_TO_FLOAT

#define KGEN_TO_DOUBLE(MODE)                                                                                      \
  static inline double __ll2double_##MODE(long long x) { return kgen::integer_to_double(x, kgen::MODE); }         \
  static inline double __ull2double_##MODE(unsigned long long x) { return kgen::integer_to_double(x, kgen::MODE); }
KGEN_TO_DOUBLE(rn)
KGEN_TO_DOUBLE(rz)
KGEN_TO_DOUBLE(ru)
KGEN_TO_DOUBLE(rd)
#undef KGEN_TO_DOUBLE
static inline double __int2double_rn(int x) { return x; }
static inline double __uint2double_rn(unsigned x) { return x; }
