// <cuda_fp8.h> for the CPU: the two 8-bit floats as storage, with NVIDIA's names and bit patterns.
#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned __nv_fp8x4_storage_t;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

// E5M2 is a short half.  E4M3 has no infinity: its largest number is 448, and only the code after it is NaN.
static inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t saturate,
                                                        __nv_fp8_interpretation_t kind) {
  const unsigned sign = (unsigned)(kgen::bits<uint64_t>(x) >> 63) << 7;
  if (x != x) {
    const unsigned payload = (unsigned)(kgen::bits<uint64_t>(x) >> 50) & 3;
    return (__nv_fp8_storage_t)(sign | (kind == __NV_E4M3 ? 0x7f : 0x7e | payload));
  }
  if (kind == __NV_E5M2) {
    const unsigned code = kgen::pack<5, 2>(fabs(x), kgen::rn);
    return (__nv_fp8_storage_t)(sign | (code == 0x7c && saturate == __NV_SATFINITE ? 0x7b : code));
  }
  const bool overflow = fabs(x) > 464.0;  // halfway to the 480 that would follow; the tie goes to 448, which is even
  const unsigned most = saturate == __NV_SATFINITE ? 0x7e : 0x7f;
  // Range is no question below: 5 exponent bits, rebased, hold all of E4M3.
  return (__nv_fp8_storage_t)(sign | (overflow ? most : kgen::pack<5, 3>(fabs(x) * 0x1p-8, kgen::rn)));
}

static inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturate,
                                                       __nv_fp8_interpretation_t kind) {
  if (x != x) return 0x7f;  // canonical, the sign dropped
  return __nv_cvt_double_to_fp8(x, saturate, kind);
}

static inline __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t saturate,
                                                         __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float_to_fp8(__half(x), saturate, kind);
}

static inline __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x, __nv_saturation_t saturate,
                                                             __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float_to_fp8(__nv_bfloat16(x), saturate, kind);
}

// Every 8-bit float is a half.
static inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) {
  if (kind == __NV_E5M2) {
    const bool nan = (x & 0x7f) > 0x7c;
    return {(unsigned short)(nan ? 0x7fff : x << 8)};
  }
  if ((x & 0x7f) == 0x7f) return {0x7fff};
  // The same bits, seven places up, are a half too small by 2^8.
  const float magnitude = kgen::float_from_half((uint16_t)((x & 0x7f) << 7)) * 256.0f;
  return {(unsigned short)((x & 0x80) << 8 | kgen::half_from_float(magnitude))};
}

static inline __nv_bfloat16_raw __nv_cvt_fp8_to_bf16raw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) {
  return {kgen::bfloat_from_float(__half(__nv_cvt_fp8_to_halfraw(x, kind)))};
}

static inline __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 v, __nv_saturation_t saturate,
                                                            __nv_fp8_interpretation_t kind) {
  return (__nv_fp8x2_storage_t)(__nv_cvt_float_to_fp8(v.x, saturate, kind) |
                                __nv_cvt_float_to_fp8(v.y, saturate, kind) << 8);
}

static inline __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t v, __nv_fp8_interpretation_t kind) {
  return {__nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)v, kind).x,
          __nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)(v >> 8), kind).x};
}

#define KGEN_EIGHT_BIT(T, KIND)                                                                            \
  struct T {                                                                                               \
    __nv_fp8_storage_t __x;                                                                                \
    T() = default;                                                                                         \
    explicit T(float x) : __x(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, KIND)) {}                           \
    explicit T(double x) : __x(__nv_cvt_double_to_fp8(x, __NV_SATFINITE, KIND)) {}                         \
    explicit T(__half x) : __x(__nv_cvt_halfraw_to_fp8(x, __NV_SATFINITE, KIND)) {}                        \
    explicit T(__nv_bfloat16 x) : __x(__nv_cvt_bfloat16raw_to_fp8(x, __NV_SATFINITE, KIND)) {}             \
    explicit operator float() const { return __half(__nv_cvt_fp8_to_halfraw(__x, KIND)); }                 \
    explicit operator __half() const { return __nv_cvt_fp8_to_halfraw(__x, KIND); }                        \
    explicit operator __nv_bfloat16() const { return __nv_cvt_fp8_to_bf16raw(__x, KIND); }                 \
  };
KGEN_EIGHT_BIT(__nv_fp8_e4m3, __NV_E4M3)
KGEN_EIGHT_BIT(__nv_fp8_e5m2, __NV_E5M2)
#undef KGEN_EIGHT_BIT
