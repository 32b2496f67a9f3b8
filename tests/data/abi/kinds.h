/*
 * Made by kgen 0.1.0 from the text below. Do not edit; remake it with
 *     kgen compile - -o kinds.cu --dtype p=f16,x=bf16,y=c128 --layout any --name kinds --emit cu,h
 *
 *     inout p: half
 *     param a: float
 *     param n: int
 *     param u: u64
 *     param b: bool
 *     param z: c64
 *     param weak = 1.0
 *     low = a * x + n * p + u
 *     high = b ? y * z : y
 *     p = p + weak
 */
#ifndef KGEN_LAUNCHER_kinds_H
#define KGEN_LAUNCHER_kinds_H

#ifndef KGEN_ARRAY_H
#define KGEN_ARRAY_H

#include <stddef.h>
#include <stdint.h>

/* DLPack's DLDataType: the kind of an element, its bits, and 1. */
typedef struct kgen_dtype {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
} kgen_dtype;

/* An array in device memory.  It has the layout of DLPack's DLTensor: pointers to both are alike. */
typedef struct kgen_array {
    void* data;
    int32_t device_type; /* these two are not read */
    int32_t device_id;
    int32_t ndim; /* 0 to 8 */
    kgen_dtype dtype;
    const int64_t* shape;
    const int64_t* strides; /* in elements; NULL: C order */
    uint64_t byte_offset;   /* from data to element (0, ..., 0) */
} kgen_array;

#define KGEN_BOOL {6, 8, 1}
#define KGEN_INT8 {0, 8, 1}
#define KGEN_INT16 {0, 16, 1}
#define KGEN_INT32 {0, 32, 1}
#define KGEN_INT64 {0, 64, 1}
#define KGEN_UINT8 {1, 8, 1}
#define KGEN_UINT16 {1, 16, 1}
#define KGEN_UINT32 {1, 32, 1}
#define KGEN_UINT64 {1, 64, 1}
#define KGEN_FLOAT16 {2, 16, 1}
#define KGEN_BFLOAT16 {4, 16, 1}
#define KGEN_FLOAT32 {2, 32, 1}
#define KGEN_FLOAT64 {2, 64, 1}
#define KGEN_FLOAT8_E4M3FN {10, 8, 1}
#define KGEN_FLOAT8_E5M2 {12, 8, 1}
#define KGEN_COMPLEX64 {5, 64, 1}
#define KGEN_COMPLEX128 {5, 128, 1}

/*
 * What launchers return.  In bits 8 to 15 is the number of the array at fault, counting from 1 in the order of the
 * parameters, or 0.  Results below 0 are errors of CUDA calls: -cudaError_t.
 */
enum {
    KGEN_SUCCESS = 0,
    KGEN_NULL_ARRAY = 1,
    KGEN_BAD_RANK = 2,
    KGEN_BAD_DTYPE = 3,
    KGEN_BAD_SHAPE = 4,
    KGEN_TOO_LARGE = 5,
    KGEN_MISALIGNED = 6,
    KGEN_OVERLAP = 7,
    KGEN_NOT_COVERED = 8,
    KGEN_SMALL_WORKSPACE = 9
};

#endif

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st; /* a cudaStream_t is a pointer to it */

/*
 * Queues the program's kernels on a stream, and returns a status.  It waits for nothing and allocates nothing.
 *
 *   p_array: float16, of any shape, updated in place
 *   x_array: bfloat16, of the shape of the outputs or broadcast to it, read
 *   y_array: complex128, of the shape of the outputs or broadcast to it, read
 *   low_array: float32, of any shape, written
 *   high_array: complex128, of any shape, written
 *   a_value: float32
 *   n_value: int32
 *   u_value: uint64
 *   b_value: bool
 *   z_real, z_imag: complex64
 *   weak_value: float32
 *   workspace: memory of at least the bytes that kinds_workspace_size says, at a multiple of 256 bytes, which no
 *     other call uses meanwhile; NULL if that is 0
 */
int kinds_launch(const kgen_array* p_array,
                 const kgen_array* x_array,
                 const kgen_array* y_array,
                 const kgen_array* low_array,
                 const kgen_array* high_array,
                 double a_value,
                 int64_t n_value,
                 uint64_t u_value,
                 int b_value,
                 double z_real,
                 double z_imag,
                 double weak_value,
                 void* workspace,
                 size_t workspace_bytes,
                 struct CUstream_st* stream);

/* The bytes of workspace that a call on these arrays needs. */
int kinds_workspace_size(const kgen_array* p_array,
                         const kgen_array* x_array,
                         const kgen_array* y_array,
                         const kgen_array* low_array,
                         const kgen_array* high_array,
                         size_t* bytes);

/* What a status means; valid until the next call of the thread. */
const char* kinds_error_string(int status);

#ifdef __cplusplus
}
#endif

#endif
