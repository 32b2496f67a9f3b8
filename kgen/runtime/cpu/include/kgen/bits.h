// Reinterpretation and integer intrinsics.
#pragma once

namespace kgen {

template <class To, class From>
inline To bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "a reinterpretation keeps the size");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

}  // namespace kgen

static inline unsigned __float_as_uint(float x) { return kgen::bits<unsigned>(x); }
static inline int __float_as_int(float x) { return kgen::bits<int>(x); }
static inline float __uint_as_float(unsigned x) { return kgen::bits<float>(x); }
static inline float __int_as_float(int x) { return kgen::bits<float>(x); }
static inline long long __double_as_longlong(double x) { return kgen::bits<long long>(x); }
static inline double __longlong_as_double(long long x) { return kgen::bits<double>(x); }
static inline int __double2hiint(double x) { return (int)(kgen::bits<uint64_t>(x) >> 32); }
static inline int __double2loint(double x) { return (int)kgen::bits<uint64_t>(x); }
static inline double __hiloint2double(int high, int low) {
  return kgen::bits<double>((uint64_t)(unsigned)high << 32 | (unsigned)low);
}

static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((uint64_t)a * b >> 32); }
static inline int __mulhi(int a, int b) { return (int)((int64_t)a * b >> 32); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
static inline int __mul24(int a, int b) {
  const int low_a = (int)((unsigned)a << 8) >> 8, low_b = (int)((unsigned)b << 8) >> 8;
  return (int)((unsigned)low_a * (unsigned)low_b);
}
static inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
static inline int __hadd(int a, int b) { return (int)(((int64_t)a + b) >> 1); }
static inline int __rhadd(int a, int b) { return (int)(((int64_t)a + b + 1) >> 1); }
static inline unsigned __uhadd(unsigned a, unsigned b) { return (unsigned)(((uint64_t)a + b) >> 1); }
static inline unsigned __urhadd(unsigned a, unsigned b) { return (unsigned)(((uint64_t)a + b + 1) >> 1); }
static inline unsigned __sad(int a, int b, unsigned c) {
  int64_t distance = (int64_t)a - b;
  return c + (unsigned)(distance < 0 ? -distance : distance);
}
static inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + (a < b ? b - a : a - b); }

static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned long long __brevll(unsigned long long x) {
  x = (x >> 1 & 0x5555555555555555) | (x & 0x5555555555555555) << 1;
  x = (x >> 2 & 0x3333333333333333) | (x & 0x3333333333333333) << 2;
  x = (x >> 4 & 0x0f0f0f0f0f0f0f0f) | (x & 0x0f0f0f0f0f0f0f0f) << 4;
  return __builtin_bswap64(x);
}
static inline unsigned __brev(unsigned x) { return (unsigned)(__brevll(x) >> 32); }

static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return (unsigned)(((uint64_t)high << 32 | low) << (shift & 31) >> 32);
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return (unsigned)(((uint64_t)high << 32 | low) >> (shift & 31));
}
static inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift < 32 ? __funnelshift_l(low, high, shift) : low;
}
static inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return shift < 32 ? __funnelshift_r(low, high, shift) : high;
}

// Picks four of the eight bytes of (low, high); bit 3 of a selector spreads the sign of its byte.
static inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selectors) {
  uint64_t bytes = (uint64_t)high << 32 | low;
  unsigned result = 0;
  for (int i = 0; i < 4; i++) {
    unsigned selector = selectors >> 4 * i & 15, byte = (unsigned)(bytes >> 8 * (selector & 7)) & 255;
    if (selector & 8) byte = byte & 128 ? 255 : 0;
    result |= byte << 8 * i;
  }
  return result;
}
