// log(1 + x) within 2^-16 of its value, for an x from 0 to 1.
static __device__ __forceinline__ float log1p_short(float x)
{
    float p = 0.014141011f;
    p = fmaf(p, x, -0.0664017573f);
    p = fmaf(p, x, 0.149223834f);
    p = fmaf(p, x, -0.235038579f);
    p = fmaf(p, x, 0.331094474f);
    p = fmaf(p, x, -0.499869645f);
    p = fmaf(p, x, 0.999998748f);
    return p * x;
}
