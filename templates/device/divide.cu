// a / b, rounded to nearest as ever, where r = 1 / b is known (P. Markstein, 1990): one division serves a whole row.
static __device__ __forceinline__ float divide(float a, float b, float r)
{
    const float q = a * r;
    if (fabsf(q) > 1e-27f && fabsf(q) < 1e36f && fabsf(a) > 1e-27f) {
        return fmaf(fmaf(-q, b, a), r, q);
    }
    return a == 0 && fabsf(r) > 0 && fabsf(r) < 1e36f ? q : a / b;
}
