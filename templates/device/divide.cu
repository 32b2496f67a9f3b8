// a / b, rounded to nearest (P. Markstein, 1990).  r = reciprocal(b) is computed once a row.
static __device__ __forceinline__ float divide(float a, float b, float r)
{
    const float q = a * r;
    if (fabsf(q) > 1e-20f && fabsf(q) < 1e36f) {
        return fmaf(fmaf(-q, b, a), r, q);
    }
    return a == 0 && r == r ? q : a / b;
}
