// -a, where the least value wraps to itself; not plain, since ptxas of CUDA 13.0 widens -(short)a as -(int)a.
static __device__ __forceinline__ short wrap_neg_i16(short a)
{
    return (short)((int)(0 - ((unsigned int)a << 16)) >> 16);
}
