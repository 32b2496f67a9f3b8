// A row at a computed place.  Where it is not inside of its array, elements read as zeros, and none is written.
template <typename T>
struct Row {
    T* start;
    bool inside;
};
