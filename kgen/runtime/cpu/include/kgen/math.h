// The CUDA math library as far as <math.h> does not have it under the same name.
//
// What glibc computes in float to more than 2 ulp goes through double.  glibc declares some of CUDA's names itself, so
// those can only be replaced by macros.
#pragma once

#define __expf(x) expf(x)
#define __exp10f(x) exp10f(x)
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __log10f(x) log10f(x)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __tanf(x) tanf(x)
#define __tanhf(x) tanhf(x)
#define __powf(x, y) powf(x, y)
#define __sincosf(x, s, c) sincosf(x, s, c)

// lgamma itself writes a global sign: a data race.
static inline double kgen_lgamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}
#define lgamma(x) kgen_lgamma(x)
#define lgammaf(x) ((float)kgen_lgamma((double)(x)))
#define tgammaf(x) ((float)tgamma((double)(x)))
#define erfcf(x) ((float)erfc((double)(x)))
#define j0f(x) ((float)j0((double)(x)))
#define j1f(x) ((float)j1((double)(x)))
#define jnf(n, x) ((float)jn(n, (double)(x)))
#define y0f(x) ((float)y0((double)(x)))
#define y1f(x) ((float)y1((double)(x)))
#define ynf(n, x) ((float)yn(n, (double)(x)))

// CUDA overloads the C names for float; <math.h> alone would silently compute in double.
#define KGEN_OVERLOAD(NAME) \
  static inline float NAME(float x) { return NAME##f(x); }
KGEN_OVERLOAD(sqrt)
KGEN_OVERLOAD(cbrt)
KGEN_OVERLOAD(exp)
KGEN_OVERLOAD(exp2)
KGEN_OVERLOAD(expm1)
KGEN_OVERLOAD(log)
KGEN_OVERLOAD(log2)
KGEN_OVERLOAD(log10)
KGEN_OVERLOAD(log1p)
KGEN_OVERLOAD(sin)
KGEN_OVERLOAD(cos)
KGEN_OVERLOAD(tan)
KGEN_OVERLOAD(asin)
KGEN_OVERLOAD(acos)
KGEN_OVERLOAD(atan)
KGEN_OVERLOAD(sinh)
KGEN_OVERLOAD(cosh)
KGEN_OVERLOAD(tanh)
KGEN_OVERLOAD(asinh)
KGEN_OVERLOAD(acosh)
KGEN_OVERLOAD(atanh)
KGEN_OVERLOAD(erf)
KGEN_OVERLOAD(floor)
KGEN_OVERLOAD(ceil)
KGEN_OVERLOAD(trunc)
KGEN_OVERLOAD(round)
KGEN_OVERLOAD(rint)
KGEN_OVERLOAD(nearbyint)
KGEN_OVERLOAD(fabs)
#undef KGEN_OVERLOAD
#define KGEN_OVERLOAD(NAME) \
  static inline float NAME(float x, float y) { return NAME##f(x, y); }
KGEN_OVERLOAD(pow)
KGEN_OVERLOAD(atan2)
KGEN_OVERLOAD(hypot)
KGEN_OVERLOAD(fmod)
KGEN_OVERLOAD(remainder)
KGEN_OVERLOAD(copysign)
KGEN_OVERLOAD(fdim)
KGEN_OVERLOAD(fmin)
KGEN_OVERLOAD(fmax)
KGEN_OVERLOAD(nextafter)
#undef KGEN_OVERLOAD
static inline void sincos(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
static inline float fma(float x, float y, float z) { return fmaf(x, y, z); }
static inline float ldexp(float x, int exponent) { return ldexpf(x, exponent); }
static inline float abs(float x) { return fabsf(x); }
static inline double abs(double x) { return fabs(x); }
// The least integer is its own magnitude, as on the GPU.
static inline long abs(long x) { return (long)(x < 0 ? -(unsigned long)x : (unsigned long)x); }
static inline long long abs(long long x) {
  return (long long)(x < 0 ? -(unsigned long long)x : (unsigned long long)x);
}

// A function given for double, and the same for float computed in double.
#define KGEN_FLOAT_OF(NAME)                                                    \
  static inline float NAME##f(float x) { return (float)NAME((double)x); }
#define KGEN_FLOAT_OF_3(NAME)                                                  \
  static inline float NAME##f(float x, float y, float z) { return (float)NAME((double)x, (double)y, (double)z); }
#define KGEN_FLOAT_OF_4(NAME)                                                  \
  static inline float NAME##f(float x, float y, float z, float w) {            \
    return (float)NAME((double)x, (double)y, (double)z, (double)w);            \
  }

static inline double kgen_rsqrt(double x) { return 1.0 / sqrt(x); }
static inline double rcbrt(double x) { return 1.0 / cbrt(x); }
KGEN_FLOAT_OF(kgen_rsqrt)
KGEN_FLOAT_OF(rcbrt)

// sin(pi x): x is first brought to within 1/4 of a multiple of 1/2, exactly, so that large x and halves are right.
namespace kgen {

inline double sine_of_turns(double x, int quadrant) {
  if (!(fabs(x) < HUGE_VAL)) return NAN;
  const double halves = rint(2.0 * fmod(x, 2.0)), rest = (fmod(x, 2.0) - 0.5 * halves) * 3.14159265358979323846;
  switch (((int)halves + quadrant) & 3) {
    case 0: return sin(rest);
    case 1: return cos(rest);
    case 2: return -sin(rest);
    default: return -cos(rest);
  }
}

}  // namespace kgen

// An integer gives a zero with the sign of x.
static inline double kgen_sinpi(double x) {
  return x == rint(x) && fabs(x) < HUGE_VAL ? copysign(0.0, x) : kgen::sine_of_turns(x, 0);
}
// A half gives plus zero.
static inline double kgen_cospi(double x) { return kgen::sine_of_turns(fabs(x), 1) + 0.0; }
static inline void sincospi(double x, double* sine, double* cosine) {
  *sine = kgen_sinpi(x);
  *cosine = kgen_cospi(x);
}
KGEN_FLOAT_OF(kgen_sinpi)
KGEN_FLOAT_OF(kgen_cospi)
static inline void sincospif(float x, float* sine, float* cosine) {
  *sine = kgen_sinpif(x);
  *cosine = kgen_cospif(x);
}

// Lengths: long double has the range for the squares, and bits to spare.
namespace kgen {

inline long double squares(double x, double y, double z, double w) {
  return (long double)x * x + (long double)y * y + (long double)z * z + (long double)w * w;
}

inline bool any_infinite(double x, double y, double z, double w) {
  return isinf(x) || isinf(y) || isinf(z) || isinf(w);
}

}  // namespace kgen

static inline double norm4d(double x, double y, double z, double w) {
  return kgen::any_infinite(x, y, z, w) ? HUGE_VAL : (double)sqrtl(kgen::squares(x, y, z, w));
}
static inline double rnorm4d(double x, double y, double z, double w) {
  return kgen::any_infinite(x, y, z, w) ? 0.0 : (double)(1.0L / sqrtl(kgen::squares(x, y, z, w)));
}
static inline double norm3d(double x, double y, double z) { return norm4d(x, y, z, 0.0); }
static inline double rnorm3d(double x, double y, double z) { return rnorm4d(x, y, z, 0.0); }
static inline double rhypot(double x, double y) { return rnorm4d(x, y, 0.0, 0.0); }
KGEN_FLOAT_OF_3(norm3d)
KGEN_FLOAT_OF_3(rnorm3d)
KGEN_FLOAT_OF_4(norm4d)
KGEN_FLOAT_OF_4(rnorm4d)
static inline float rhypotf(float x, float y) { return (float)rhypot((double)x, (double)y); }

// C23 has these too, and newer C libraries declare them: only macros work with old and new.
#define rsqrt(x) kgen_rsqrt(x)
#define rsqrtf(x) kgen_rsqrtf(x)
#define sinpi(x) kgen_sinpi(x)
#define sinpif(x) kgen_sinpif(x)
#define cospi(x) kgen_cospi(x)
#define cospif(x) kgen_cospif(x)
