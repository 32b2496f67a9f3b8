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
