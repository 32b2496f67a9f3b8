// a / b for 0 <= a <= 1 <= b and r = 1 / b: rounded to nearest (P. Markstein, 1990), unless below 2^-100.
static __device__ __forceinline__ float divide_quotient(float a, float b, float r)
{
    const float q = a * r;
    return fmaf(fmaf(-q, b, a), r, q);
}
