// An array that has passed its checks: where its elements lie, and the range of bytes that they are in.
struct Array {
    uintptr_t address;  // of element (0, ..., 0)
    uintptr_t first, last;
    int rank;
    long long size;  // elements
    long long itemsize;
    long long shape[8], strides[8];
};

// A status about an array; arrays are counted from 1.
static int status_of(int status, int number) { return status + 256 * number; }

// Checks an argument by itself.  Sizes and spans are at most 2^48 elements, so that sums of them do not overflow.
static int read_array(const kgen_array* from, int number, kgen_dtype dtype, Array* to)
{
    const long long limit = 1ll << 48;
    if (from == nullptr || (from->ndim > 0 && from->shape == nullptr)) return status_of(KGEN_NULL_ARRAY, number);
    if (from->ndim < 0 || from->ndim > 8) return status_of(KGEN_BAD_RANK, number);
    if (from->dtype.code != dtype.code || from->dtype.bits != dtype.bits || from->dtype.lanes != 1) {
        return status_of(KGEN_BAD_DTYPE, number);
    }
    to->rank = from->ndim;
    to->itemsize = dtype.bits / 8;
    to->size = 1;
    long long lowest = 0, highest = 0, dense = 1;
    for (int i = from->ndim - 1; i >= 0; --i) {
        const long long n = from->shape[i], stride = from->strides == nullptr ? dense : from->strides[i];
        if (n < 0) return status_of(KGEN_BAD_SHAPE, number);
        if (n > limit / dense) return status_of(KGEN_TOO_LARGE, number);
        if (n > 1 && (stride > limit / (n - 1) || stride < -limit / (n - 1))) {
            return status_of(KGEN_TOO_LARGE, number);
        }
        const long long span = n > 1 ? (n - 1) * stride : 0;
        lowest += span < 0 ? span : 0;
        highest += span > 0 ? span : 0;
        to->shape[i] = n;
        to->strides[i] = n > 1 || (-limit < stride && stride < limit) ? stride : 0;
        to->size *= n;
        dense *= n > 1 ? n : 1;
    }
    to->address = reinterpret_cast<uintptr_t>(from->data) + static_cast<uintptr_t>(from->byte_offset);
    if (to->size > 0 && from->data == nullptr) return status_of(KGEN_NULL_ARRAY, number);
    if (to->address % to->itemsize != 0) return status_of(KGEN_MISALIGNED, number);
    to->first = to->address + lowest * to->itemsize;
    to->last = to->address + (highest + 1) * to->itemsize - 1;
    return KGEN_SUCCESS;
}

static long long magnitude(long long stride) { return stride < 0 ? -stride : stride; }

// Whether two indices of an array may lead to one element: unless each dimension steps over all faster ones.
static bool overlaps_itself(const Array& array)
{
    bool done[8] = {};
    for (long long reach = 0;;) {
        int fastest = -1;
        for (int i = 0; i < array.rank; ++i) {
            const bool is_less = fastest < 0 || magnitude(array.strides[i]) < magnitude(array.strides[fastest]);
            if (!done[i] && array.shape[i] > 1 && is_less) {
                fastest = i;
            }
        }
        if (fastest < 0 || array.size == 0) return false;
        if (magnitude(array.strides[fastest]) <= reach) return true;
        reach += (array.shape[fastest] - 1) * magnitude(array.strides[fastest]);
        done[fastest] = true;
    }
}

// The bytes that an array occupies in each period, the first as an address.  False if it fills more than a period.
static bool window(const Array& array, long long period, uintptr_t* first, long long* bytes)
{
    *first = array.address;
    *bytes = array.itemsize;
    for (int i = 0; i < array.rank; ++i) {
        const long long step = array.strides[i] * array.itemsize;
        if (array.shape[i] > 1 && step % period != 0) {
            const long long span = (array.shape[i] - 1) * step;
            *first += span < 0 ? span : 0;
            *bytes += magnitude(span);
        }
    }
    return *bytes <= period;
}

// Whether two arrays lie beside each other in each period of a stride of the first, such as columns of one matrix.
static bool interleaved(const Array& one, const Array& other)
{
    for (int i = 0; i < one.rank; ++i) {
        const long long period = magnitude(one.strides[i]) * one.itemsize;
        uintptr_t a, b;
        long long a_bytes, b_bytes;
        if (one.shape[i] < 2 || period == 0) continue;
        if (!window(one, period, &a, &a_bytes) || !window(other, period, &b, &b_bytes)) continue;
        const long long apart = static_cast<long long>((b % period + period - a % period) % period);
        if (apart >= a_bytes && apart + b_bytes <= period) return true;
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
    kgen_dtype dtype;
    int rank;
    bool is_written;
};

// Checks all arguments, and that no array that is written overlaps itself or another one.
static int read_arrays(const kgen_array* const* given, const Operand* operands, int count, Array* arrays)
{
    for (int i = 0; i < count; ++i) {
        const int status = read_array(given[i], i + 1, operands[i].dtype, &arrays[i]);
        if (status != KGEN_SUCCESS) return status;
        if (operands[i].rank >= 0 && arrays[i].rank != operands[i].rank) return status_of(KGEN_BAD_RANK, i + 1);
    }
    for (int i = 0; i < count; ++i) {
        if (operands[i].is_written && overlaps_itself(arrays[i])) return status_of(KGEN_OVERLAP, i + 1);
        for (int k = 0; k < count; ++k) {
            if (k != i && operands[i].is_written && overlap(arrays[i], arrays[k])) {
                return status_of(KGEN_OVERLAP, i + 1);
            }
        }
    }
    return KGEN_SUCCESS;
}
