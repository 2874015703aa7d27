/* SPDX-License-Identifier: Apache-2.0 */
/* The part of ONNX Runtime's C interface that this backend uses: a table of function pointers,
 * accessed by index, so that the build needs no header of ONNX Runtime. The indices never change,
 * because the table only grows. */
#ifndef BACKENDS_ONNXRUNTIME_API_H
#define BACKENDS_ONNXRUNTIME_API_H

#include <polygraphy/tensor.h>

typedef struct ort_status ort_status;
typedef struct ort_env ort_env;
typedef struct ort_options ort_options;
typedef struct ort_session ort_session;
typedef struct ort_run_options ort_run_options;
typedef struct ort_value ort_value;
typedef struct ort_memory ort_memory;
typedef struct ort_allocator ort_allocator;
typedef struct ort_type_info ort_type_info;
typedef struct ort_shape_info ort_shape_info;
typedef struct ort_sequence_info ort_sequence_info;
typedef struct ort_cuda_options ort_cuda_options;

typedef void (*ort_log_function)(void *user, int severity, const char *category, const char *log_id,
                                 const char *location, const char *message);

/* Minor versions of ONNX Runtime (1.8, 1.12), and the least number of API table entries in each. */
enum { ORT_API_MIN = 8, ORT_COUNT_MIN = 170, ORT_API_PROVIDERS = 12, ORT_COUNT_PROVIDERS = 217 };
enum ort_kind {
    ORT_UNKNOWN,
    ORT_TENSOR,
    ORT_SEQUENCE,
    ORT_MAP,
    ORT_OPAQUE,
    ORT_SPARSE,
    ORT_OPTIONAL
};

typedef struct ort_api {
#define F(index, field, arguments) ort_status *(*field)arguments;
#define V(index, field, arguments) void(*field) arguments;
#include "backends/onnxruntime/api.def"
#undef F
#undef V
    const char *(*status_text)(const ort_status *);
    int minor;           /* minor number of the release that was found */
    const char *version; /* full version text */
    const char *path;    /* the library's file, as it was opened */
    ort_env *env;        /* one per process, never released */
    ort_allocator *allocator;
    ort_memory *memory; /* describes host memory */
} ort_api;

/* Opens the runtime once per process. @return PGY_E_NOT_FOUND with the places tried and how to
 * install it */
pgy_status ort_open(const ort_api **out, pgy_error *err) PGY_MUST_CHECK;
/* Converts and releases a status of ONNX Runtime; NULL is PGY_OK. `what` names the action for the
 * error. */
pgy_status ort_check(const ort_api *api, ort_status *status, const char *what,
                     pgy_error *err) PGY_MUST_CHECK;

/* ONNX Runtime's codes of element types. They equal those of TensorProto, except for the newest
 * types. */
int ort_type_from_dtype(pgy_dtype dtype);
pgy_dtype ort_dtype_from_type(int type);

#endif
