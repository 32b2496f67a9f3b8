static void swap_dimensions(Space* space, int accesses, int a, int b)
{
    std::swap(space->shape[a], space->shape[b]);
    for (int k = 0; k < accesses; ++k) std::swap(space->strides[k][a], space->strides[k][b]);
}

// 1 if dimension a has to come after dimension b, -1 if their order is right, 0 if no access decides.
static int compare_dimensions(const Space& space, int accesses, int a, int b)
{
    for (int k = 0; k < accesses; ++k) {
        const long long one = magnitude(space.strides[k][a]), other = magnitude(space.strides[k][b]);
        if (one == 0 || other == 0) continue;
        if (one != other) return one > other ? 1 : -1;
        if (space.shape[a] > space.shape[b]) return 1;
    }
    return 0;
}

// Orders the dimensions, the fastest first: the first access with different strides decides each pair, as in PyTorch.
static void order_dimensions(Space* space, int accesses)
{
    for (int start = 1; start < space->rank; ++start) {
        for (int at = start, before = start - 1; before >= 0; --before) {
            const int verdict = compare_dimensions(*space, accesses, before, at);
            if (verdict < 0) break;
            if (verdict == 0) continue;
            swap_dimensions(space, accesses, before, at);
            at = before;
        }
    }
}

// Merges neighbouring dimensions that all accesses walk with one stride.  The others get extents of 1 and strides of 0.
static void merge_dimensions(Space* space, int accesses)
{
    int last = 0;
    for (int d = 1; d < space->rank; ++d) {
        bool continues = true;
        for (int k = 0; k < accesses; ++k) {
            const long long* const strides = space->strides[k];
            continues = continues && space->shape[last] * strides[last] == strides[d];
        }
        if (continues) space->shape[last] *= space->shape[d];
        if (!continues && ++last != d) swap_dimensions(space, accesses, last, d);
    }
    for (int d = last + 1; d < 8; ++d) {
        space->shape[d] = 1;
        for (int k = 0; k < accesses; ++k) space->strides[k][d] = 0;
    }
    space->rank = last + 1;
}

// The space of a kernel.  `accesses` lists its arrays: first those that are written, all of one shape, to which the
// others are broadcast.
static int find_space(const Array* arrays, const int* accesses, int count, int written, Space* space)
{
    const Array& results = arrays[accesses[0]];
    *space = Space();
    for (int k = 0; k < count; ++k) {
        const Array& array = arrays[accesses[k]];
        const int missing = results.rank - array.rank;
        bool fits = k < written ? missing == 0 : missing >= 0;
        space->rank = 0;
        for (int i = results.rank - 1; i >= 0 && fits; --i) {
            const long long n = results.shape[i], own = i < missing ? 1 : array.shape[i - missing];
            fits = own == n || (own == 1 && k >= written);
            if (n == 1) continue;
            space->shape[space->rank] = n;
            space->strides[k][space->rank++] = own == 1 ? 0 : array.strides[i - missing];
        }
        if (!fits) return status_of(KGEN_BAD_SHAPE, accesses[k] + 1);
    }
    if (space->rank == 0) {  // one element
        space->shape[space->rank++] = 1;
        for (int k = 0; k < count; ++k) space->strides[k][0] = 1;
    }
    if (results.size == 0) return KGEN_SUCCESS;
    order_dimensions(space, count);
    merge_dimensions(space, count);
    return KGEN_SUCCESS;
}

// Whether the first accesses walk consecutive elements along the fastest dimension.
static bool are_consecutive(const Space& space, int accesses)
{
    for (int k = 0; k < accesses; ++k) {
        if (space.strides[k][0] != 1) return false;
    }
    return true;
}

// Whether an input is consecutive along another dimension than the fastest, which then becomes the second.
static bool takes_tiles(Space* space, int accesses, int written, long long shortest)
{
    for (int k = written; k < accesses; ++k) {
        const long long* const strides = space->strides[k];
        for (int d = 1; d < space->rank && magnitude(strides[0]) > 1; ++d) {
            if (strides[d] == 1 && space->shape[d] >= shortest) {
                for (; d > 1; --d) swap_dimensions(space, accesses, d - 1, d);
                return true;
            }
        }
    }
    return false;
}

// Whether indices, and offsets in bytes, fit 32 bits.
static bool fits_32_bits(const Array* arrays, const int* accesses, int count)
{
    const uintptr_t most = 2147483647;
    for (int k = 0; k < count; ++k) {
        const Array& array = arrays[accesses[k]];
        if (array.address - array.first > most + 1 || array.last - array.address > most) return false;
    }
    return static_cast<uintptr_t>(arrays[accesses[0]].size) <= most;
}
