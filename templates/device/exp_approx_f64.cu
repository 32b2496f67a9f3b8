// exp(x) as a term of a sum whose largest term is 1: the relative error grows with -x, but the term shrinks.
static __device__ __forceinline__ double exp_approx(double x)
{
    return exp(x);
}
