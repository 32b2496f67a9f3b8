// The axis of an array that stands for any number of dimensions, a batch, -1 for none; the array's rank with it; and
// whether it may have one row for all of the batch.
struct Batch {
    int axis;
    int rank;
    bool may_be_one;
};

// Makes one of the dimensions of a batch, which lie one behind another.
static int merge_batch(const Batch& batch, Array* array)
{
    const int count = array->rank - batch.rank + 1;
    if (batch.axis < 0 ? count != 1 : count < 0) return KGEN_BAD_RANK;
    if (batch.axis < 0) return KGEN_SUCCESS;
    long long extent = 1, stride = 0;
    for (int i = batch.axis + count - 1; i >= batch.axis; --i) {
        if (array->shape[i] == 1) continue;
        if (extent == 1) stride = array->strides[i];
        if (array->size > 0 && array->strides[i] != stride * extent) return KGEN_NOT_COVERED;
        extent *= array->shape[i];
    }
    const size_t behind = sizeof(long long) * static_cast<size_t>(batch.rank - batch.axis - 1);
    memmove(array->shape + batch.axis + 1, array->shape + batch.axis + count, behind);
    memmove(array->strides + batch.axis + 1, array->strides + batch.axis + count, behind);
    array->shape[batch.axis] = extent;
    array->strides[batch.axis] = extent > 1 ? stride : 0;
    array->rank = batch.rank;
    return KGEN_SUCCESS;
}

// Does so for all arrays, whose batches have the same dimensions.
static int merge_batches(const kgen_array* const* given, const Batch* batches, int count, Array* arrays)
{
    int first = 0;
    while (batches[first].axis < 0 || batches[first].may_be_one) ++first;
    const int dimensions = given[first]->ndim - batches[first].rank + 1;
    for (int i = 0; i < count; ++i) {
        const int status = merge_batch(batches[i], &arrays[i]);
        if (status != KGEN_SUCCESS) return status_of(status, i + 1);
        if (batches[i].axis < 0 || (batches[i].may_be_one && arrays[i].shape[batches[i].axis] == 1)) continue;
        bool is_alike = given[i]->ndim - batches[i].rank + 1 == dimensions;
        for (int d = 0; d < dimensions && is_alike; ++d) {
            is_alike = given[i]->shape[batches[i].axis + d] == given[first]->shape[batches[first].axis + d];
        }
        if (!is_alike) return status_of(KGEN_BAD_SHAPE, i + 1);
    }
    return KGEN_SUCCESS;
}
