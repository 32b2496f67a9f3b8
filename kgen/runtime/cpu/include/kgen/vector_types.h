// float2, int4 and kin, with CUDA's sizes and alignments.
#pragma once

#define KGEN_VECTOR(T, NAME)                                                             \
  struct NAME##1 {                                                                       \
    T x;                                                                                 \
  };                                                                                     \
  struct alignas(2 * sizeof(T)) NAME##2 {                                                \
    T x, y;                                                                              \
  };                                                                                     \
  KGEN_VECTOR_OF_THREE(T, NAME)                                                          \
  struct alignas(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) NAME##4 {                      \
    T x, y, z, w;                                                                        \
  };                                                                                     \
  static inline NAME##1 make_##NAME##1(T x) { return {x}; }                              \
  static inline NAME##2 make_##NAME##2(T x, T y) { return {x, y}; }                      \
  static inline NAME##3 make_##NAME##3(T x, T y, T z) { return {x, y, z}; }              \
  static inline NAME##4 make_##NAME##4(T x, T y, T z, T w) { return {x, y, z, w}; }

#define KGEN_VECTOR_OF_THREE(T, NAME) \
  struct NAME##3 {                    \
    T x, y, z;                        \
  };
KGEN_VECTOR(signed char, char)
KGEN_VECTOR(unsigned char, uchar)
KGEN_VECTOR(short, short)
KGEN_VECTOR(unsigned short, ushort)
KGEN_VECTOR(int, int)
KGEN_VECTOR(long, long)
KGEN_VECTOR(unsigned long, ulong)
KGEN_VECTOR(long long, longlong)
KGEN_VECTOR(unsigned long long, ulonglong)
KGEN_VECTOR(float, float)
KGEN_VECTOR(double, double)
#undef KGEN_VECTOR_OF_THREE
#define KGEN_VECTOR_OF_THREE(T, NAME)  // uint3 is in abi.h
KGEN_VECTOR(unsigned, uint)
#undef KGEN_VECTOR_OF_THREE
#undef KGEN_VECTOR

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
