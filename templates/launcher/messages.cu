// What a status means.
static const char* meaning_of(int status)
{
    switch (status) {
        case KGEN_SUCCESS: return "success";
        case KGEN_NULL_ARRAY: return "a null pointer";
        case KGEN_BAD_RANK: return "another number of dimensions than the program has, or more than 8";
        case KGEN_BAD_DTYPE: return "another dtype than the program was compiled for";
        case KGEN_BAD_SHAPE: return "a negative extent, or extents that do not fit those of the other arrays";
        case KGEN_TOO_LARGE: return "more elements, or larger strides, than a launch can have";
        case KGEN_MISALIGNED: return "an address that is no multiple of the element's size (256 bytes for workspace)";
        case KGEN_OVERLAP: return "memory that is written overlaps another array, or itself";
        case KGEN_NOT_COVERED: return "strides, extents or alignment that no kernel of this file is for";
        case KGEN_SMALL_WORKSPACE: return "less workspace than the program needs";
        default: return "no status of this launcher";
    }
}
