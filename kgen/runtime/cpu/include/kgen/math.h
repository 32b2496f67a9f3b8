// The CUDA math library as far as <math.h> does not have it under the same name.
//
// What glibc computes in float to more than 2 ulp goes through double.  glibc declares some of CUDA's names itself, so
// those can only be replaced by macros; of any number of arguments, as one may have commas of its own, in `<` and `>`.
#pragma once

#define __expf(...) expf(__VA_ARGS__)
#define __exp10f(...) exp10f(__VA_ARGS__)
#define __logf(...) logf(__VA_ARGS__)
#define __log2f(...) log2f(__VA_ARGS__)
#define __log10f(...) log10f(__VA_ARGS__)
#define __sinf(...) sinf(__VA_ARGS__)
#define __cosf(...) cosf(__VA_ARGS__)
#define __tanf(...) tanf(__VA_ARGS__)
#define __tanhf(...) tanhf(__VA_ARGS__)
#define __powf(...) powf(__VA_ARGS__)
#define __sincosf(...) sincosf(__VA_ARGS__)

// Where glibc's functions of double are off by more than an ulp or two, those of long double are rounded instead.
// lgamma itself writes a global sign: a data race.
static inline double kgen_lgamma(double x) {
  int sign;
  return (double)lgammal_r(x, &sign);
}
#define lgamma(...) kgen_lgamma(__VA_ARGS__)
#define lgammaf(...) ((float)kgen_lgamma((double)(__VA_ARGS__)))
#define tgamma(...) ((double)tgammal((long double)(__VA_ARGS__)))
#define tgammaf(...) ((float)tgammal((long double)(__VA_ARGS__)))
#define erfc(...) ((double)erfcl((long double)(__VA_ARGS__)))
#define erfcf(...) ((float)erfcl((long double)(__VA_ARGS__)))
#define tanhf(...) ((float)tanh((double)(__VA_ARGS__)))
#define j0(...) ((double)j0l((long double)(__VA_ARGS__)))
#define j1(...) ((double)j1l((long double)(__VA_ARGS__)))
#define y0(...) ((double)y0l((long double)(__VA_ARGS__)))
#define y1(...) ((double)y1l((long double)(__VA_ARGS__)))
#define j0f(...) ((float)j0l((long double)(__VA_ARGS__)))
#define j1f(...) ((float)j1l((long double)(__VA_ARGS__)))
#define y0f(...) ((float)y0l((long double)(__VA_ARGS__)))
#define y1f(...) ((float)y1l((long double)(__VA_ARGS__)))

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

static inline double kgen_rsqrt(double x) { return (double)(1.0L / sqrtl(x)); }
static inline double rcbrt(double x) { return (double)(1.0L / cbrtl(x)); }
KGEN_FLOAT_OF(kgen_rsqrt)
KGEN_FLOAT_OF(rcbrt)

// sin(pi x): x is first brought to within 1/4 of a multiple of 1/2, exactly, so that large x and halves are right.
namespace kgen {

inline double sine_of_turns(double x, int quadrant) {
  if (!(fabs(x) < HUGE_VAL)) return NAN;
  const double turns = fmod(x, 2.0), halves = rint(2.0 * turns);
  const long double rest = (turns - 0.5 * halves) * 3.14159265358979323846264L;
  switch (((int)halves + quadrant) & 3) {
    case 0: return (double)sinl(rest);
    case 1: return (double)cosl(rest);
    case 2: return (double)-sinl(rest);
    default: return (double)-cosl(rest);
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
#define rsqrt(...) kgen_rsqrt(__VA_ARGS__)
#define rsqrtf(...) kgen_rsqrtf(__VA_ARGS__)
#define sinpi(...) kgen_sinpi(__VA_ARGS__)
#define sinpif(...) kgen_sinpif(__VA_ARGS__)
#define cospi(...) kgen_cospi(__VA_ARGS__)
#define cospif(...) kgen_cospif(__VA_ARGS__)
