// The extents of an array that is read or written at computed places, and its strides in elements.
template <int Rank>
struct ArrayShape {
    long long extent[Rank];
    long long stride[Rank];
};
