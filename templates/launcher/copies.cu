// Marks those of some arrays that are not aligned, by a null pointer: kernels take copies of them.
static int mark_unaligned(Array* arrays, const Operand* operands, std::initializer_list<int> numbers)
{
    for (const int i : numbers) {
        Array& array = arrays[i];
        if (array.address % ALIGNMENT == 0) continue;
        const bool has_gaps = array.last - array.first + 1 != static_cast<uintptr_t>(array.size * array.itemsize);
        if (array.address != array.first || (has_gaps && operands[i].is_written)) {
            return status_of(KGEN_NOT_COVERED, i + 1);
        }
        array.address = 0;
    }
    return KGEN_SUCCESS;
}

// The memory that copies of the marked arrays take.
static size_t bytes_of_copies(const Array* arrays, int count)
{
    size_t bytes = 0;
    for (int i = 0; i < count; ++i) {
        const bool is_marked = arrays[i].size > 0 && arrays[i].address == 0;
        bytes += is_marked ? (arrays[i].last - arrays[i].first + 256) / 256 * 256 : 0;
    }
    return bytes;
}

static int copy_array(uintptr_t to, uintptr_t from, const Array& array, cudaStream_t stream)
{
    return -static_cast<int>(cudaMemcpyAsync(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from),
                                             array.last - array.first + 1, cudaMemcpyDeviceToDevice, stream));
}

// Copies the marked arrays to memory, one behind another, and moves its start behind them.
static int copy_unaligned(Array* arrays, int count, char** memory, cudaStream_t stream)
{
    for (int i = 0; i < count; ++i) {
        const size_t bytes = bytes_of_copies(&arrays[i], 1);
        if (bytes == 0) continue;
        arrays[i].address = reinterpret_cast<uintptr_t>(*memory);
        *memory += bytes;
        if (const int status = copy_array(arrays[i].address, arrays[i].first, arrays[i], stream)) return status;
    }
    return KGEN_SUCCESS;
}

// Copies results back.
static int copy_back(const Array* arrays, const Operand* operands, int count, cudaStream_t stream)
{
    for (int i = 0; i < count; ++i) {
        const Array& array = arrays[i];
        const bool is_copied = array.size > 0 && (array.address < array.first || array.address > array.last);
        if (!operands[i].is_written || !is_copied) continue;
        if (const int status = copy_array(array.first, array.address, array, stream)) return status;
    }
    return KGEN_SUCCESS;
}
