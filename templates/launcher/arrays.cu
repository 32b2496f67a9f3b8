// An array that has passed its checks: where its elements lie, and the range of bytes that they are in.
struct Array {
    uintptr_t address;  // of element (0, ..., 0)
    uintptr_t first, last;
    int rank;
    long long size;  // elements
    long long itemsize;
    long long shape[8], strides[8];  // 0 along dimensions of one element
};

// A status about an array; arrays are counted from 1.
static int status_of(int status, int number) { return status + 256 * number; }

static long long magnitude(long long stride) { return stride < 0 ? -stride : stride; }

// Checks an argument by itself.  Sizes and spans are at most 2^48 elements, so that sums of them do not overflow.
static int read_array(const kgen_array* from, kgen_dtype dtype, Array* to)
{
    const long long limit = 1ll << 48;
    if (from == nullptr || (from->ndim > 0 && from->shape == nullptr)) return KGEN_NULL_ARRAY;
    if (from->ndim < 0 || from->ndim > 8) return KGEN_BAD_RANK;
    const kgen_dtype& found = from->dtype;
    if (found.code != dtype.code || found.bits != dtype.bits || found.lanes != 1) return KGEN_BAD_DTYPE;
    to->rank = from->ndim;
    to->itemsize = dtype.bits / 8;
    to->size = 1;
    long long lowest = 0, highest = 0, dense = 1;
    for (int i = from->ndim - 1; i >= 0; --i) {
        const long long n = from->shape[i], stride = from->strides == nullptr ? dense : from->strides[i];
        if (n < 0) return KGEN_BAD_SHAPE;
        if (n > limit / dense) return KGEN_TOO_LARGE;
        if (n > 1 && (stride > limit / (n - 1) || stride < -limit / (n - 1))) return KGEN_TOO_LARGE;
        to->shape[i] = n;
        to->strides[i] = n > 1 ? stride : 0;
        const long long span = (n - 1) * to->strides[i];
        (span < 0 ? lowest : highest) += span;
        to->size *= n;
        dense *= n > 1 ? n : 1;
    }
    to->address = reinterpret_cast<uintptr_t>(from->data) + static_cast<uintptr_t>(from->byte_offset);
    if (to->size > 0 && from->data == nullptr) return KGEN_NULL_ARRAY;
    if (to->address % to->itemsize != 0) return KGEN_MISALIGNED;
    to->first = to->address + lowest * to->itemsize;
    to->last = to->address + (highest + 1) * to->itemsize - 1;
    return KGEN_SUCCESS;
}

// Whether two indices of an array may lead to one element: unless each dimension steps over all faster ones.
static bool overlaps_itself(const Array& array)
{
    for (int i = 0; i < array.rank; ++i) {
        const long long step = magnitude(array.strides[i]);
        long long reach = 0;
        for (int d = 0; d < array.rank; ++d) {
            const long long other = magnitude(array.strides[d]);
            if (d != i && other <= step) reach += (array.shape[d] - 1) * other;
        }
        if (array.shape[i] > 1 && step <= reach) return array.size > 0;
    }
    return false;
}

// The bytes that an array occupies in each period: the first as an address, and how many.
static long long window(const Array& array, long long period, uintptr_t* first)
{
    long long bytes = array.itemsize;
    *first = array.address;
    for (int i = 0; i < array.rank; ++i) {
        const long long step = array.strides[i] * array.itemsize, span = (array.shape[i] - 1) * step;
        if (step % period != 0) {
            *first += span < 0 ? span : 0;
            bytes += magnitude(span);
        }
    }
    return bytes;
}

// Whether two arrays lie beside each other in each period of a stride of the first, such as columns of one matrix.
static bool interleaved(const Array& one, const Array& other)
{
    for (int i = 0; i < one.rank; ++i) {
        const long long period = magnitude(one.strides[i]) * one.itemsize;
        if (period == 0) continue;
        uintptr_t a, b;
        const long long a_bytes = window(one, period, &a), b_bytes = window(other, period, &b);
        const long long apart = static_cast<long long>((b % period + period - a % period) % period);
        if (a_bytes <= apart && apart + b_bytes <= period) return true;
    }
    return false;
}

// Whether two arrays may share a byte.
static bool overlap(const Array& one, const Array& other)
{
    if (one.size == 0 || other.size == 0 || one.last < other.first || other.last < one.first) return false;
    return !interleaved(one, other) && !interleaved(other, one);
}

// What the program says of an array.  `rank` is -1 where any will do.
struct Operand {
    const char* name;
    kgen_dtype dtype;
    int rank;
    bool is_written;
};

// Checks all arguments, and that no array that is written overlaps itself or another one.
static int read_arrays(const kgen_array* const* given, const Operand* operands, int count, Array* arrays)
{
    for (int i = 0; i < count; ++i) {
        const int status = read_array(given[i], operands[i].dtype, &arrays[i]);
        if (status != KGEN_SUCCESS) return status_of(status, i + 1);
        if (operands[i].rank >= 0 && arrays[i].rank != operands[i].rank) return status_of(KGEN_BAD_RANK, i + 1);
    }
    for (int i = 0; i < count; ++i) {
        bool overlaps = operands[i].is_written && overlaps_itself(arrays[i]);
        for (int k = 0; k < count && operands[i].is_written; ++k) {
            overlaps = overlaps || (k != i && overlap(arrays[i], arrays[k]));
        }
        if (overlaps) return status_of(KGEN_OVERLAP, i + 1);
    }
    return KGEN_SUCCESS;
}
