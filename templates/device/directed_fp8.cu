// x as fp8 with E exponent bits, rounded up (DIRECTION 1), down (-1) or toward zero (0).
// Past the largest finite value: infinity (NaN where there is none), unless SATURATE or the direction stops there.
template <typename T, int E, int DIRECTION, bool SATURATE>
static __device__ __forceinline__ T directed_fp8(float x)
{
    const unsigned int bits = __float_as_uint(x), magnitude = bits & 0x7fffffff, negative = bits >> 31;
    const unsigned int largest = E == 4 ? 0x7e : 0x7b, beyond = SATURATE ? largest : largest + 1;
    unsigned int code;
    if (magnitude >= 0x7f800000) {
        code = magnitude == 0x7f800000 ? beyond : 0x7f;
    } else {
        const bool away = DIRECTION == (negative ? -1 : 1);
        const int exponent = (int)(magnitude >> 23) - (E == 4 ? 120 : 112);  // 1 is the least of a normal number
        const int shift = min(16 + E + max(1 - exponent, 0), 31);
        const unsigned int significand = magnitude == 0 ? 0 : (magnitude & 0x7fffff) | 0x800000;
        const bool inexact = (significand & ((1u << shift) - 1)) != 0;
        // The leading bit of a normal number adds 1 to the exponent field, and so does a carry.
        code = (max(exponent - 1, 0) << (7 - E)) + (significand >> shift) + (away && inexact);
        code = min(code, away ? beyond : largest);
    }
    T result;
    result.__x = (unsigned char)(negative << 7 | code);
    return result;
}
