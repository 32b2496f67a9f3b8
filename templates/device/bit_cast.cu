// The bits of x as another type of the same size.
template <typename To, typename From>
static __device__ __forceinline__ To bit_cast(From x)
{
    static_assert(sizeof(To) == sizeof(From), "a bit cast keeps the size");
    To result;
    memcpy(&result, &x, sizeof(To));
    return result;
}
