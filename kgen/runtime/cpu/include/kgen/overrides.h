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

// CUDA's Bessel functions have no negative orders.
namespace kgen {
inline double bessel_j(int n, double x) { return n < 0 ? NAN : jn(n, x); }
inline double bessel_y(int n, double x) { return n < 0 ? NAN : yn(n, x); }
inline float bessel_j_float(int n, float x) { return (float)bessel_j(n, x); }
inline float bessel_y_float(int n, float x) { return (float)bessel_y(n, x); }
}  // namespace kgen
#define jn(...) kgen::bessel_j(__VA_ARGS__)
#define yn(...) kgen::bessel_y(__VA_ARGS__)
#define jnf(...) kgen::bessel_j_float(__VA_ARGS__)
#define ynf(...) kgen::bessel_y_float(__VA_ARGS__)
