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

// 2^bits * (2^shift - divisor) / divisor + 1, in as many bits as a number has.
template <typename Count>
static Count magic_of(unsigned long long divisor)
{
    unsigned long long rest = (1ull << kgen_shift(divisor)) - divisor, quotient = 0;
    for (unsigned int bit = 0; bit < 8 * sizeof(Count); ++bit) {
        rest *= 2;
        quotient = 2 * quotient + (rest >= divisor ? 1 : 0);
        rest -= rest >= divisor ? divisor : 0;
    }
    return (Count)(quotient + 1);
}

// The product of the extents from a dimension on.
template <int Rank>
static long long extents_from(const long long* shape, int first)
{
    long long product = 1;
    for (int d = first; d < Rank; ++d) product *= shape[d];
    return product;
}

// The most elements by which the first group of a row begins before it: none where rows begin with whole groups.
template <int Group, typename T>
static long long most_before(const T* address, const long long (&strides)[8])
{
    bool is_whole = reinterpret_cast<uintptr_t>(address) % (Group * sizeof(T)) == 0;
    for (int d = 1; d < 8; ++d) is_whole = is_whole && strides[d] % Group == 0;
    return is_whole ? 0 : Group - 1;
}
