// Names that the C library has as well, with CUDA's meaning: last, for what is built on the C library's own.
#pragma once

// glibc's are macros that may give any non-zero int; CUDA's give 0 or 1.
#undef isnan
#undef isinf
#undef isfinite
#undef signbit
static inline bool isnan(float x) { return __builtin_isnan(x); }
static inline bool isnan(double x) { return __builtin_isnan(x); }
static inline bool isinf(float x) { return __builtin_isinf(x); }
static inline bool isinf(double x) { return __builtin_isinf(x); }
static inline bool isfinite(float x) { return __builtin_isfinite(x); }
static inline bool isfinite(double x) { return __builtin_isfinite(x); }
static inline bool signbit(float x) { return __builtin_signbit(x); }
static inline bool signbit(double x) { return __builtin_signbit(x); }

// CUDA's order the zeros; the C library's may give either.
namespace kgen {
inline float lesser_float(float x, float y) { return lesser(x, y); }
inline float greater_float(float x, float y) { return greater(x, y); }
}  // namespace kgen
#define fminf(...) kgen::lesser_float(__VA_ARGS__)
#define fmaxf(...) kgen::greater_float(__VA_ARGS__)
#define fmin(...) kgen::lesser(__VA_ARGS__)
#define fmax(...) kgen::greater(__VA_ARGS__)

// What one argument decides; glibc's give NaN where the other one is a signalling NaN.
namespace kgen {
inline double power(double x, double y) { return x == 1 || y == 0 ? 1 : pow(x, y); }
inline float power(float x, float y) { return x == 1 || y == 0 ? 1 : powf(x, y); }
inline float power_float(float x, float y) { return power(x, y); }
inline double root_of_squares(double x, double y) { return isinf(x) || isinf(y) ? INFINITY : hypot(x, y); }
inline float root_of_squares(float x, float y) { return isinf(x) || isinf(y) ? INFINITY : hypotf(x, y); }
inline float root_of_squares_float(float x, float y) { return root_of_squares(x, y); }
}  // namespace kgen
#define pow(...) kgen::power(__VA_ARGS__)
#define powf(...) kgen::power_float(__VA_ARGS__)
#define hypot(...) kgen::root_of_squares(__VA_ARGS__)
#define hypotf(...) kgen::root_of_squares_float(__VA_ARGS__)

// glibc's own of double are off by up to 3 ulp, CUDA's by 1.
#define KGEN_ROUNDED(NAME)                                                                  \
  namespace kgen {                                                                          \
  inline double rounded_##NAME(double x) { return (double)NAME##l((long double)x); }        \
  inline float rounded_##NAME(float x) { return NAME##f(x); }                               \
  }
KGEN_ROUNDED(cbrt)
KGEN_ROUNDED(exp10)
KGEN_ROUNDED(log10)
#undef KGEN_ROUNDED
#define cbrt(...) kgen::rounded_cbrt(__VA_ARGS__)
#define exp10(...) kgen::rounded_exp10(__VA_ARGS__)
#define log10(...) kgen::rounded_log10(__VA_ARGS__)

// CUDA's Bessel functions have no negative orders.
namespace kgen {
inline double bessel_j(int n, double x) { return n < 0 ? NAN : (double)jnl(n, (long double)x); }
inline double bessel_y(int n, double x) { return n < 0 ? NAN : (double)ynl(n, (long double)x); }
inline float bessel_j_float(int n, float x) { return (float)bessel_j(n, x); }
inline float bessel_y_float(int n, float x) { return (float)bessel_y(n, x); }
}  // namespace kgen
#define jn(...) kgen::bessel_j(__VA_ARGS__)
#define yn(...) kgen::bessel_y(__VA_ARGS__)
#define jnf(...) kgen::bessel_j_float(__VA_ARGS__)
#define ynf(...) kgen::bessel_y_float(__VA_ARGS__)
