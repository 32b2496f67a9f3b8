// a / c, rounded to nearest, where c is a positive integer of at most 20 significant bits that leaves no ties, and r is
// 1 / c, rounded: rest is exact.  Zeros keep their signs, and what is left of an infinity is a number again.
static __device__ __forceinline__ float divide_by_integer(float a, float c, float r)
{
    const float q = a * r, rest = fminf(fmaf(q, c, -a), 0x1p127f);
    return fmaf(-rest, r, q);
}
