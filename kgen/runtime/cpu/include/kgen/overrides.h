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
#define fminf(x, y) kgen::lesser((float)(x), (float)(y))
#define fmaxf(x, y) kgen::greater((float)(x), (float)(y))
#define fmin(x, y) kgen::lesser(x, y)
#define fmax(x, y) kgen::greater(x, y)

// CUDA's Bessel functions have no negative orders.
namespace kgen {
inline double bessel_j(int n, double x) { return n < 0 ? NAN : jn(n, x); }
inline double bessel_y(int n, double x) { return n < 0 ? NAN : yn(n, x); }
}  // namespace kgen
#undef jnf
#undef ynf
#define jn(n, x) kgen::bessel_j(n, x)
#define yn(n, x) kgen::bessel_y(n, x)
#define jnf(n, x) ((float)kgen::bessel_j(n, (double)(x)))
#define ynf(n, x) ((float)kgen::bessel_y(n, (double)(x)))
