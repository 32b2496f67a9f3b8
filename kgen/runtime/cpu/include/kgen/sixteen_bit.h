// What __half and __nv_bfloat16 have in common, as macros over their names.
#pragma once

namespace kgen {

inline uint16_t half_from_double(double x, Rounding mode) { return (uint16_t)pack<5, 10>(x, mode); }
inline uint16_t bfloat_from_double(double x, Rounding mode) { return (uint16_t)pack<8, 7>(x, mode); }

// The common case without branches: float to nearest.
inline uint16_t half_from_float(float x) {
#if defined(__F16C__) || defined(__aarch64__)
  return x == x ? bits<uint16_t>((_Float16)x) : 0x7fff;
#else
  const uint32_t word = bits<uint32_t>(x), magnitude = word & 0x7fffffff, sign = word >> 16 & 0x8000;
  // Below 2^-14 the float adder rounds for us: the sum with 0.5 has the subnormal's spacing.
  const bool subnormal = magnitude < 0x38800000;
  const uint32_t small = bits<uint32_t>(bits<float>(subnormal ? magnitude : 0) + 0.5f) - 0x3f000000;
  const uint32_t normal = (magnitude + 0xc8000fff + (magnitude >> 13 & 1)) >> 13;
  const uint32_t finite = subnormal ? small : normal;
  if (magnitude > 0x7f800000) return 0x7fff;
  return (uint16_t)(sign | (magnitude >= 0x477ff000 ? 0x7c00 : finite));
#endif
}

inline float float_from_half(uint16_t code) {
#if defined(__F16C__) || defined(__aarch64__)
  return (float)bits<_Float16>(code);
#else
  const uint32_t sign = (uint32_t)(code & 0x8000) << 16, magnitude = (uint32_t)(code & 0x7fff) << 13;
  const uint32_t small = bits<uint32_t>((float)(int)(code & 0x3ff) * 5.9604644775390625e-8f);
  const uint32_t normal = magnitude + (magnitude >= 0x0f800000 ? 0x70000000 : 0x38000000);
  return bits<float>(sign | (magnitude < 0x00800000 ? small : normal));
#endif
}

inline uint16_t bfloat_from_float(float x) {
  const uint32_t word = bits<uint32_t>(x), rounded = (word + 0x7fff + (word >> 16 & 1)) >> 16;
  return (uint16_t)((word & 0x7fffffff) > 0x7f800000 ? 0x7fff : rounded);
}

inline float float_from_bfloat(uint16_t code) { return bits<float>((uint32_t)code << 16); }

}  // namespace kgen

// The type: 16 bits that convert from and to float.
#define KGEN_SIXTEEN_BIT(T, FROM_FLOAT, FROM_DOUBLE, TO_FLOAT)                            \
  struct T##_raw {                                                                        \
    unsigned short x;                                                                     \
  };                                                                                      \
  struct alignas(2) T {                                                                   \
    T() = default;                                                                        \
    constexpr T(const T##_raw& raw) : __x(raw.x) {}                                       \
    T(float value) : __x(kgen::FROM_FLOAT(value)) {}                                      \
    T(double value) : __x(kgen::FROM_DOUBLE(value, kgen::rn)) {}                          \
    T(int value) : __x(kgen::FROM_DOUBLE(value, kgen::rn)) {}                             \
    T(unsigned value) : __x(kgen::FROM_DOUBLE(value, kgen::rn)) {}                        \
    T(long long value) : __x(kgen::FROM_DOUBLE(kgen::to_odd(value), kgen::rn)) {}         \
    T(unsigned long long value) : __x(kgen::FROM_DOUBLE(kgen::to_odd(value), kgen::rn)) {} \
    operator float() const { return kgen::TO_FLOAT(__x); }                                \
    operator T##_raw() const { return {__x}; }                                            \
                                                                                          \
   protected:                                                                             \
    unsigned short __x;                                                                   \
  };

// Arithmetic in float: 24 bits are enough for one rounding of +, -, *, / and sqrt of 8 or 11 bits to be the right one.
#define KGEN_SIXTEEN_BIT_ARITHMETIC(T)                                                                  \
  static inline T operator+(T a, T b) { return T((float)a + (float)b); }                                \
  static inline T operator-(T a, T b) { return T((float)a - (float)b); }                                \
  static inline T operator*(T a, T b) { return T((float)a * (float)b); }                                \
  static inline T operator/(T a, T b) { return T((float)a / (float)b); }                                \
  static inline T operator-(T a) { return T##_raw{(unsigned short)(((T##_raw)a).x ^ 0x8000)}; }         \
  static inline T& operator+=(T& a, T b) { return a = a + b; }                                          \
  static inline T& operator-=(T& a, T b) { return a = a - b; }                                          \
  static inline T& operator*=(T& a, T b) { return a = a * b; }                                          \
  static inline T& operator/=(T& a, T b) { return a = a / b; }                                          \
  static inline bool operator==(T a, T b) { return (float)a == (float)b; }                              \
  static inline bool operator!=(T a, T b) { return (float)a != (float)b; }                              \
  static inline bool operator<(T a, T b) { return (float)a < (float)b; }                                \
  static inline bool operator<=(T a, T b) { return (float)a <= (float)b; }                              \
  static inline bool operator>(T a, T b) { return (float)a > (float)b; }                                \
  static inline bool operator>=(T a, T b) { return (float)a >= (float)b; }                              \
  static inline T __hadd(T a, T b) { return a + b; }                                                    \
  static inline T __hsub(T a, T b) { return a - b; }                                                    \
  static inline T __hmul(T a, T b) { return a * b; }                                                    \
  static inline T __hdiv(T a, T b) { return a / b; }                                                    \
  static inline T __hneg(T a) { return -a; }                                                            \
  static inline T __habs(T a) { return T##_raw{(unsigned short)(((T##_raw)a).x & 0x7fff)}; }            \
  static inline T __hmax(T a, T b) { return T(fmaxf(a, b)); }                                           \
  static inline T __hmin(T a, T b) { return T(fminf(a, b)); }                                           \
  /* the product is exact in double; the sum, rounded to odd, then rounds once */                       \
  static inline T __hfma(T a, T b, T c) {                                                               \
    return T(kgen::add_to_odd((double)(float)a * (double)(float)b, (double)(float)c));                  \
  }                                                                                                     \
  static inline bool __hisnan(T a) { return (float)a != (float)a; }                                     \
  static inline bool __heq(T a, T b) { return a == b; }                                                 \
  static inline bool __hne(T a, T b) { return a != b; }                                                 \
  static inline bool __hlt(T a, T b) { return a < b; }                                                  \
  static inline bool __hle(T a, T b) { return a <= b; }                                                 \
  static inline bool __hgt(T a, T b) { return a > b; }                                                  \
  static inline bool __hge(T a, T b) { return a >= b; }

// __int2half_rz, __half2int_rz and kin, for one rounding mode.  NAME is half or bfloat16, as in the function names.
#define KGEN_SIXTEEN_BIT_CONVERSIONS(T, NAME, FROM_DOUBLE, MODE)                                                      \
  static inline T kgen_##NAME##_##MODE(double x) { return T##_raw{kgen::FROM_DOUBLE(x, kgen::MODE)}; }                \
  static inline T __float2##NAME##_##MODE(float x) { return kgen_##NAME##_##MODE(x); }                                \
  static inline T __short2##NAME##_##MODE(short x) { return kgen_##NAME##_##MODE(x); }                                \
  static inline T __ushort2##NAME##_##MODE(unsigned short x) { return kgen_##NAME##_##MODE(x); }                      \
  static inline T __int2##NAME##_##MODE(int x) { return kgen_##NAME##_##MODE(x); }                                    \
  static inline T __uint2##NAME##_##MODE(unsigned x) { return kgen_##NAME##_##MODE(x); }                              \
  static inline T __ll2##NAME##_##MODE(long long x) { return kgen_##NAME##_##MODE(kgen::to_odd(x)); }                 \
  static inline T __ull2##NAME##_##MODE(unsigned long long x) { return kgen_##NAME##_##MODE(kgen::to_odd(x)); }       \
  static inline short __##NAME##2short_##MODE(T x) { return kgen::to_integer<short>((float)x, kgen::MODE); }          \
  static inline unsigned short __##NAME##2ushort_##MODE(T x) {                                                        \
    return kgen::to_integer<unsigned short>((float)x, kgen::MODE);                                                    \
  }                                                                                                                   \
  static inline int __##NAME##2int_##MODE(T x) { return kgen::to_integer<int>((float)x, kgen::MODE); }                \
  static inline unsigned __##NAME##2uint_##MODE(T x) { return kgen::to_integer<unsigned>((float)x, kgen::MODE); }     \
  static inline long long __##NAME##2ll_##MODE(T x) { return kgen::to_integer<long long>((float)x, kgen::MODE); }     \
  static inline unsigned long long __##NAME##2ull_##MODE(T x) {                                                       \
    return kgen::to_integer<unsigned long long>((float)x, kgen::MODE);                                                \
  }
