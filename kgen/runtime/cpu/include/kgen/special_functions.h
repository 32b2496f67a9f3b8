// The special functions that no C library has: inverse error functions, scaled erfc, normal distribution, Bessel I.
#pragma once

namespace kgen {

inline double polynomial(const double* coefficients, int degree, double x) {
  double sum = coefficients[degree];
  for (int i = degree; i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

// M. Wichura, algorithm AS 241 (PPND16), relative error about 1e-16.  Half the least double is a tail as well.
inline double near_quantile(double centred, long double tail) {
  static const double near_top[] = {3.3871328727963666080e0,  1.3314166789178437745e2, 1.9715909503065514427e3,
                                    1.3731693765509461125e4,  4.5921953931549871457e4, 6.7265770927008700853e4,
                                    3.3430575583588128105e4,  2.5090809287301226727e3};
  static const double near_bottom[] = {1.0,
                                       4.2313330701600911252e1,
                                       6.8718700749205790830e2,
                                       5.3941960214247511077e3,
                                       2.1213794301586595867e4,
                                       3.9307895800092710610e4,
                                       2.8729085735721942674e4,
                                       5.2264952788528545610e3};
  static const double mid_top[] = {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
                                   3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
                                   2.27238449892691845833e-2, 7.74545014278341407640e-4};
  static const double mid_bottom[] = {1.0,
                                      2.05319162663775882187e0,
                                      1.67638483018380384940e0,
                                      6.89767334985100004550e-1,
                                      1.48103976427480074590e-1,
                                      1.51986665636164571966e-2,
                                      5.47593808499534494600e-4,
                                      1.05075007164441684324e-9};
  static const double far_top[] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                                   2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                   2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static const double far_bottom[] = {1.0,
                                      5.99832206555887937690e-1,
                                      1.36929880922735805310e-1,
                                      1.48753612908506148525e-2,
                                      7.86869131145613259100e-4,
                                      1.84631831751005468180e-5,
                                      1.42151175831644588870e-7,
                                      2.04426310338993978564e-15};
  if (fabs(centred) <= 0.425) {
    const double r = 0.180625 - centred * centred;
    return centred * polynomial(near_top, 7, r) / polynomial(near_bottom, 7, r);
  }
  const double r = (double)sqrtl(-logl(tail));
  const double x = r <= 5.0 ? polynomial(mid_top, 7, r - 1.6) / polynomial(mid_bottom, 7, r - 1.6)
                            : polynomial(far_top, 7, r - 5.0) / polynomial(far_bottom, 7, r - 5.0);
  return centred < 0 ? -x : x;
}

constexpr long double sqrt_half = 0.707106781186547524400844L, sqrt_pi = 1.772453850905516027298167L;

// The normal quantile of p, given p - 1/2 and the smaller of p and 1 - p: each exact where it matters.  A step of Newton's
// method in long double follows the approximation.
inline long double normal_quantile(double centred, long double tail) {
  const long double x = near_quantile(centred, tail), slope = expl(-0.5L * x * x) / (sqrt_pi / sqrt_half);
  if (fabs(centred) <= 0.425) return x - (0.5L * erfl(x * sqrt_half) - centred) / slope;
  const long double far = fabsl(x) + (0.5L * erfcl(fabsl(x) * sqrt_half) - tail) / slope;
  return centred < 0 ? -far : far;
}

// The modified Bessel function of the first kind, order 0 or 1, of x >= 0.
inline double bessel_i(int order, double x) {
  if (x < 30.0) {  // the power series, all of whose terms are positive
    const long double quarter = (long double)x * x / 4;
    long double term = order ? (long double)x / 2 : 1, sum = term;
    for (int k = 1; term > sum * 1e-20L; k++) sum += term *= quarter / ((long double)k * (k + order));
    return (double)sum;
  }
  if (x > 720.0) return HUGE_VAL;
  long double term = 1, sum = 1;  // the asymptotic series, whose terms fall below 1e-20 here before they grow
  for (int k = 1; fabsl(term) > 1e-20L && k < 60; k++) {
    const long double odd = 2 * k - 1;
    sum += term *= (odd * odd - 4.0L * order) / (8.0L * x * k);
  }
  return (double)(expl(x) * (sum / sqrtl(6.283185307179586476925287L * x)));
}

}  // namespace kgen

static inline double normcdfinv(double p) {
  if (!(p > 0.0 && p < 1.0)) return p == 0.0 ? -HUGE_VAL : p == 1.0 ? HUGE_VAL : NAN;
  return (double)kgen::normal_quantile(p - 0.5, p < 0.5 ? p : 1.0 - p);
}

static inline double erfinv(double x) {
  if (!(fabs(x) < 1.0)) return fabs(x) == 1.0 ? copysign(HUGE_VAL, x) : NAN;
  return (double)(kgen::normal_quantile(0.5 * x, 0.5 * (1.0 - fabs(x))) * kgen::sqrt_half);
}

static inline double erfcinv(double x) {
  if (!(x > 0.0 && x < 2.0)) return x == 0.0 ? HUGE_VAL : x == 2.0 ? -HUGE_VAL : NAN;
  return kgen::normal_quantile(0.5 * (1.0 - x), x < 1.0 ? 0.5L * x : 0.5L * (2.0 - x)) * kgen::sqrt_half;
}

// exp(x * x) * erfc(x)
static inline double erfcx(double x) {
  if (x < 10.0) return (double)(expl((long double)x * x) * erfcl(x));
  if (!(x < HUGE_VAL)) return x != x ? x : 0.0;
  const long double step = 0.5L / x / x;
  long double term = 1, sum = 1;
  for (int k = 1; k < 18; k++) sum += term *= -(2 * k - 1) * step;
  return (double)(sum / (x * kgen::sqrt_pi));
}

static inline double normcdf(double x) { return (double)(0.5L * erfcl(-x * kgen::sqrt_half)); }

static inline double cyl_bessel_i0(double x) { return isinf(x) ? HUGE_VAL : kgen::bessel_i(0, fabs(x)); }
static inline double cyl_bessel_i1(double x) { return isinf(x) ? x : copysign(kgen::bessel_i(1, fabs(x)), x); }

KGEN_FLOAT_OF(normcdfinv)
KGEN_FLOAT_OF(erfinv)
KGEN_FLOAT_OF(erfcinv)
KGEN_FLOAT_OF(erfcx)
KGEN_FLOAT_OF(normcdf)
KGEN_FLOAT_OF(cyl_bessel_i0)
KGEN_FLOAT_OF(cyl_bessel_i1)
