// Checks that an array has the shape and the strides that the kernels are for.
static int check_layout(const Array& array, int number, std::initializer_list<long long> shape,
                        std::initializer_list<long long> strides)
{
    for (int i = 0; i < array.rank; ++i) {
        if (array.shape[i] != shape.begin()[i]) return status_of(KGEN_BAD_SHAPE, number);
    }
    for (int i = 0; i < array.rank; ++i) {
        const bool is_used = array.shape[i] > 1 && array.size > 0;
        if (is_used && array.strides[i] != strides.begin()[i]) return status_of(KGEN_NOT_COVERED, number);
    }
    return KGEN_SUCCESS;
}

// The divisor's magic number, in as many bits as a number has.
template <typename Count>
static Count magic_of(long long divisor)
{
    return (Count)(sizeof(Count) == 4 ? kgen_magic(divisor) : kgen_magic64(divisor));
}

// The product of the extents from a dimension on.
template <int Rank>
static long long extents_from(const long long* shape, int first)
{
    long long product = 1;
    for (int d = first; d < Rank; ++d) product *= shape[d];
    return product;
}
