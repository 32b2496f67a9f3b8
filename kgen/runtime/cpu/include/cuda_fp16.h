// <cuda_fp16.h> for the CPU: __half and __half2, with NVIDIA's names and bit patterns.
#pragma once
#include "kgen/sixteen_bit.h"

KGEN_SIXTEEN_BIT(__half, half_from_float, half_from_double, float_from_half)
KGEN_SIXTEEN_BIT_ARITHMETIC(__half)
KGEN_SIXTEEN_BIT_CONVERSIONS(__half, half, half_from_double, rz)
KGEN_SIXTEEN_BIT_CONVERSIONS(__half, half, half_from_double, ru)
KGEN_SIXTEEN_BIT_CONVERSIONS(__half, half, half_from_double, rd)
// To nearest, float has a faster way.
#define __float2half_rn kgen_slow_float2half_rn
KGEN_SIXTEEN_BIT_CONVERSIONS(__half, half, half_from_double, rn)
#undef __float2half_rn
static inline __half __float2half_rn(float x) { return __half(x); }
static inline __half __float2half(float x) { return __half(x); }
static inline __half __double2half(double x) { return __half(x); }
static inline float __half2float(__half x) { return x; }
static inline signed char __half2char_rz(__half x) { return kgen::to_integer<signed char>((float)x, kgen::rz); }
static inline unsigned char __half2uchar_rz(__half x) { return kgen::to_integer<unsigned char>((float)x, kgen::rz); }
static inline unsigned short __half_as_ushort(__half x) { return ((__half_raw)x).x; }
static inline short __half_as_short(__half x) { return (short)((__half_raw)x).x; }
static inline __half __ushort_as_half(unsigned short x) { return __half_raw{x}; }
static inline __half __short_as_half(short x) { return __half_raw{(unsigned short)x}; }

struct alignas(4) __half2_raw {
  unsigned short x, y;
};
struct alignas(4) __half2 {
  __half x, y;
  __half2() = default;
  __half2(__half x, __half y) : x(x), y(y) {}
  __half2(__half2_raw raw) : x(__half_raw{raw.x}), y(__half_raw{raw.y}) {}
};
typedef __half half;
typedef __half2 half2;
static inline __half __low2half(__half2 v) { return v.x; }
static inline __half __high2half(__half2 v) { return v.y; }
static inline float __low2float(__half2 v) { return v.x; }
static inline float __high2float(__half2 v) { return v.y; }
static inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
static inline __half2 make_half2(__half x, __half y) { return {x, y}; }
static inline __half2 __half2half2(__half x) { return {x, x}; }
static inline __half2 __float2half2_rn(float x) { return {__half(x), __half(x)}; }
static inline __half2 __floats2half2_rn(float x, float y) { return {__half(x), __half(y)}; }
static inline __half2 __float22half2_rn(float2 v) { return {__half(v.x), __half(v.y)}; }
static inline float2 __half22float2(__half2 v) { return {v.x, v.y}; }
