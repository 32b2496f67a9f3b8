// Strides over the shape of the results: 0 along dimensions that the array lacks or repeats.
static bool broadcast(const Array& from, const Array& results, long long* strides)
{
    const int missing = results.rank - from.rank;
    if (missing < 0) return false;
    for (int i = 0; i < results.rank; ++i) {
        const long long n = i < missing ? 1 : from.shape[i - missing];
        if (n != 1 && n != results.shape[i]) return false;
        strides[i] = i < missing || n != results.shape[i] ? 0 : from.strides[i - missing];
    }
    return true;
}

// Whether strides are dense when axes are walked in an order, the fastest first.
static bool is_dense(const Array& results, const long long* strides, const int* order)
{
    long long step = 1;
    for (int i = 0; i < results.rank; ++i) {
        const int axis = order[i];
        if (results.shape[axis] != 1) {
            if (strides[axis] != step) return false;
            step *= results.shape[axis];
        }
    }
    return true;
}

static bool all_dense(const Array& results, const long long (*strides)[8], int accesses, const int* order)
{
    for (int k = 0; k < accesses; ++k) {
        if (!is_dense(results, strides[k], order)) return false;
    }
    return true;
}

// Whether all accesses are dense in one order, of which these are tried: C order, channels-last, that of the first.
static bool in_one_order(const Array& results, const long long (*strides)[8], int accesses)
{
    const int channels_last[] = {1, 3, 2, 0};
    int order[8];
    for (int i = 0; i < results.rank; ++i) order[i] = results.rank - 1 - i;
    if (all_dense(results, strides, accesses, order)) return true;
    if (results.rank == 4 && all_dense(results, strides, accesses, channels_last)) return true;
    for (int i = 0; i < results.rank; ++i) {
        int at = i;
        for (; at > 0 && strides[0][order[at - 1]] > strides[0][i]; --at) order[at] = order[at - 1];
        order[at] = i;
        for (int k = 1; k < accesses; ++k) {
            if (strides[k][i] != strides[0][i]) return false;
        }
    }
    return is_dense(results, strides[0], order);
}

// 1 if axis a has to come after axis b, -1 if their order is right, 0 if no access decides.
static int compare_axes(const Array& results, const long long (*strides)[8], int accesses, int a, int b)
{
    for (int k = 0; k < accesses; ++k) {
        const long long one = magnitude(strides[k][a]), other = magnitude(strides[k][b]);
        if (one == 0 || other == 0) continue;
        if (one != other) return one > other ? 1 : -1;
        if (results.shape[a] > results.shape[b]) return 1;
    }
    return 0;
}

// The axes, the fastest first: the first access with different strides decides each pair, as in PyTorch.
static void fastest_first(const Array& results, const long long (*strides)[8], int accesses, int* order)
{
    for (int i = 0; i < results.rank; ++i) order[i] = results.rank - 1 - i;
    for (int start = 1; start < results.rank; ++start) {
        const int axis = order[start];
        for (int at = start, before = start - 1; before >= 0; --before) {
            const int verdict = compare_axes(results, strides, accesses, order[before], axis);
            if (verdict < 0) break;
            if (verdict > 0) {
                order[at] = order[before];
                order[before] = axis;
                at = before;
            }
        }
    }
}

// Merges neighbouring axes that all accesses walk with one stride.  `is_full`: whether no access repeats elements.
static void merge(const Array& results, const long long (*strides)[8], int accesses, bool is_full, Space* space)
{
    space->rank = 1;
    space->shape[0] = results.size;
    for (int k = 0; k < accesses; ++k) space->strides[k][0] = 1;
    if (results.size == 1 || (is_full && in_one_order(results, strides, accesses))) return;
    int order[8];
    fastest_first(results, strides, accesses, order);
    space->shape[0] = 1;
    for (int i = 0; i < results.rank; ++i) {
        const int axis = order[i], last = space->rank - 1;
        const long long n = results.shape[axis], merged = space->shape[last];
        bool continues = true;
        for (int k = 0; k < accesses && n != 1 && merged != 1; ++k) {
            continues = continues && merged * space->strides[k][last] == strides[k][axis];
        }
        const int at = continues ? last : last + 1;
        for (int k = 0; k < accesses && (!continues || merged == 1); ++k) space->strides[k][at] = strides[k][axis];
        space->shape[at] = continues ? merged * n : n;
        space->rank = at + 1;
    }
}

// The space of a kernel, with extents of 1 up to 8 dimensions.  `accesses` lists its arrays: first those that are
// written, all of one shape, to which the others are broadcast.
static int find_space(const Array* arrays, const int* accesses, int count, int written, Space* space)
{
    const Array& results = arrays[accesses[0]];
    long long strides[ACCESSES][8];
    bool is_full = true;
    for (int k = 0; k < count; ++k) {
        const Array& array = arrays[accesses[k]];
        if (!broadcast(array, results, strides[k])) return status_of(KGEN_BAD_SHAPE, accesses[k] + 1);
        bool has_all = array.rank == results.rank;
        for (int i = 0; i < array.rank && has_all; ++i) has_all = array.shape[i] == results.shape[i];
        if (k < written && !has_all) return status_of(KGEN_BAD_SHAPE, accesses[k] + 1);
        is_full = is_full && has_all;
    }
    *space = Space();
    for (int d = 0; d < 8; ++d) space->shape[d] = 1;
    if (results.size > 0) merge(results, strides, count, is_full, space);
    return KGEN_SUCCESS;
}

// Whether all accesses walk the space as one run of memory.
static bool is_contiguous(const Space& space, int accesses)
{
    for (int k = 0; k < accesses; ++k) {
        if (space.strides[k][0] != 1) return false;
    }
    return space.rank == 1;
}

// Whether what is written is consecutive along the fastest dimension, which has so many elements.
static bool has_rows(const Space& space, int written, long long shortest)
{
    for (int k = 0; k < written; ++k) {
        if (space.strides[k][0] != 1) return false;
    }
    return space.shape[0] >= shortest;
}

static void move_to_second(long long* values, int from)
{
    const long long value = values[from];
    for (int d = from; d > 1; --d) values[d] = values[d - 1];
    values[1] = value;
}

// Whether an input is consecutive along another dimension than the fastest, which then becomes the second.
static bool takes_tiles(Space* space, int accesses, int written, long long shortest)
{
    for (int k = written; k < accesses; ++k) {
        long long* const strides = space->strides[k];
        for (int d = 1; d < space->rank && magnitude(strides[0]) > 1; ++d) {
            if (strides[d] == 1 && space->shape[d] >= shortest) {
                move_to_second(space->shape, d);
                for (int i = 0; i < accesses; ++i) move_to_second(space->strides[i], d);
                return true;
            }
        }
    }
    return false;
}

// Whether indices, and offsets in bytes, fit 32 bits.
static bool fits_32_bits(const Space& space, const int* itemsizes, int accesses)
{
    const long long most = 2147483647;
    long long size = 1;
    for (int d = 0; d < space.rank; ++d) size *= space.shape[d];
    for (int k = 0; k < accesses; ++k) {
        long long lowest = 0, highest = 0;
        for (int d = 0; d < space.rank; ++d) {
            const long long span = (space.shape[d] - 1) * space.strides[k][d];
            (span < 0 ? lowest : highest) += span;
        }
        if (lowest * itemsizes[k] < -most - 1 || (highest + 1) * itemsizes[k] - 1 > most) return false;
    }
    return size <= most;
}
