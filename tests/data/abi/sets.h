/*
 * Made by kgen 0.1.0 from the text below. Do not edit; remake it with
 *     kgen compile - -o sets.cu --layout any --name sets --dtypes 'f16; i8' --emit cu,h
 *
 *     out = x + 1
 */
#ifndef KGEN_LAUNCHER_sets_H
#define KGEN_LAUNCHER_sets_H

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
 *   x_array: float16 or int8, of the shape of the outputs or broadcast to it, read
 *   out_array: float16 or int8, of any shape, written
 *   workspace: memory of at least the bytes that sets_workspace_size says, at a multiple of 256 bytes, which no
 *     other call uses meanwhile; NULL if that is 0
 */
int sets_launch(const kgen_array* x_array,
                const kgen_array* out_array,
                void* workspace,
                size_t workspace_bytes,
                struct CUstream_st* stream);

/* The bytes of workspace that a call on these arrays needs. */
int sets_workspace_size(const kgen_array* x_array,
                        const kgen_array* out_array,
                        size_t* bytes);

/* What a status means; valid until the next call of the thread. */
const char* sets_error_string(int status);

/*
 * Queues the program's kernels on a stream, and returns a status.  It waits for nothing and allocates nothing.
 *
 *   x_array: float16, of the shape of the outputs or broadcast to it, read
 *   out_array: float16, of any shape, written
 *   workspace: memory of at least the bytes that sets_f16_workspace_size says, at a multiple of 256 bytes, which no
 *     other call uses meanwhile; NULL if that is 0
 */
int sets_f16_launch(const kgen_array* x_array,
                    const kgen_array* out_array,
                    void* workspace,
                    size_t workspace_bytes,
                    struct CUstream_st* stream);

/* The bytes of workspace that a call on these arrays needs. */
int sets_f16_workspace_size(const kgen_array* x_array,
                            const kgen_array* out_array,
                            size_t* bytes);

/* What a status means; valid until the next call of the thread. */
const char* sets_f16_error_string(int status);

/*
 * Queues the program's kernels on a stream, and returns a status.  It waits for nothing and allocates nothing.
 *
 *   x_array: int8, of the shape of the outputs or broadcast to it, read
 *   out_array: int8, of any shape, written
 *   workspace: memory of at least the bytes that sets_i8_workspace_size says, at a multiple of 256 bytes, which no
 *     other call uses meanwhile; NULL if that is 0
 */
int sets_i8_launch(const kgen_array* x_array,
                   const kgen_array* out_array,
                   void* workspace,
                   size_t workspace_bytes,
                   struct CUstream_st* stream);

/* The bytes of workspace that a call on these arrays needs. */
int sets_i8_workspace_size(const kgen_array* x_array,
                           const kgen_array* out_array,
                           size_t* bytes);

/* What a status means; valid until the next call of the thread. */
const char* sets_i8_error_string(int status);

#ifdef __cplusplus
}
#endif

#endif
