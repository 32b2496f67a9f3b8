// Rounding to any binary format, once and in any direction.
//
// Every source type reaches pack() as a double that is exact or, where 53 bits do not hold it, rounded to odd: the last
// bit then says "not exactly this", which is all that a second rounding to a narrower format needs to be right.
#pragma once

namespace kgen {

enum Rounding { rn, rz, ru, rd };

constexpr uint64_t double_sign = 1ull << 63, double_infinity = 2047ull << 52;

// The code of `value` in a format with an IEEE layout; overflow gives infinity or the largest number, as the mode says.
template <int exponent_bits, int fraction_bits>
inline uint32_t pack(double value, Rounding mode) {
  constexpr int bias = (1 << (exponent_bits - 1)) - 1, least = 1 - bias;
  constexpr int64_t infinity = (int64_t)((1 << exponent_bits) - 1) << fraction_bits;
  const uint64_t word = bits<uint64_t>(value), magnitude = word & ~double_sign;
  const bool negative = word >> 63;
  const uint32_t sign = (uint32_t)negative << (exponent_bits + fraction_bits);
  if (magnitude > double_infinity) return (1u << (exponent_bits + fraction_bits)) - 1;  // CUDA's canonical NaN
  if (magnitude == double_infinity) return sign | (uint32_t)infinity;
  if (magnitude == 0) return sign;

  // A double subnormal is far below every target format: its exponent only has to stay small.
  int exponent = (int)(magnitude >> 52) - 1023;
  uint64_t significand = (magnitude & ((1ull << 52) - 1)) | 1ull << 52;
  int shift = 52 - fraction_bits;
  if (exponent < least) {
    shift = shift + least - exponent < 63 ? shift + least - exponent : 63;
    exponent = least;
  }
  uint64_t kept = significand >> shift, rest = significand & ((1ull << shift) - 1), half = 1ull << (shift - 1);
  const bool nearest_up = rest > half || (rest == half && (kept & 1));
  const bool away = mode == rn ? nearest_up : mode == rz ? false : rest && negative == (mode == rd);
  // The implicit bit, where there is one, adds one to the exponent field; so does a carry.
  int64_t code = ((int64_t)(exponent - least) << fraction_bits) + (int64_t)(kept + away);
  if (code >= infinity) {
    const bool to_infinity = mode == rn || (mode == ru && !negative) || (mode == rd && negative);
    code = to_infinity ? infinity : infinity - 1;
  }
  return sign | (uint32_t)code;
}

inline float to_float(double value, Rounding mode) { return bits<float>(pack<8, 23>(value, mode)); }

// An integer as a double, rounded to odd.
inline double to_odd(unsigned long long magnitude) {
  if (magnitude >> 53 == 0) return (double)magnitude;
  const int shift = 11 - __builtin_clzll(magnitude);
  const unsigned long long kept = magnitude >> shift, lost = magnitude & ((1ull << shift) - 1);
  return (double)((kept | (lost != 0)) << shift);
}

inline double to_odd(long long value) {
  return value < 0 ? -to_odd(-(unsigned long long)value) : to_odd((unsigned long long)value);
}

// The nearest double and the sign of what it leaves out, as the same value rounded to odd.
inline double to_odd(double nearest, double error) {
  const uint64_t word = bits<uint64_t>(nearest);
  if (!(error < 0 || error > 0) || (word & ~double_sign) >= double_infinity || (word & 1)) return nearest;
  return bits<double>((error > 0) == (nearest > 0) ? word + 1 : word - 1);
}

// A 64-bit integer to double: 53 bits, so no wider type to go through.
template <class Integer>
inline double integer_to_double(Integer value, Rounding mode) {
  const double nearest = (double)value;
  const __int128 excess = (__int128)nearest - value;
  if (mode == rn || excess == 0) return nearest;
  const bool negative = value < 0, down = mode == rd || (mode == rz && !negative);
  if (down == (excess < 0)) return nearest;
  // One step towards the wanted side; the magnitude grows when sign and direction agree.
  return bits<double>(bits<uint64_t>(nearest) + (down == negative ? 1 : -1));
}

}  // namespace kgen
