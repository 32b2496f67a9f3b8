// -a, where SHRT_MIN wraps to itself.  Not (short)-a: ptxas of CUDA 13.0 widens that to -(int)a.
static __device__ __forceinline__ short wrap_neg_i16(short a)
{
    return (short)((int)(0 - ((unsigned int)a << 16)) >> 16);
}
