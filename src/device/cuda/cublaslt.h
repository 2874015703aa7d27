/* SPDX-License-Identifier: Apache-2.0 */
/* cuBLASLt as a table of functions, opened when it is first needed. The types are those of
 * cublasLt.h, which is not needed to build. */
#ifndef DEVICE_CUDA_CUBLASLT_H
#define DEVICE_CUDA_CUBLASLT_H

#include "device/cuda/driver.h"

typedef struct cublasLtContext *lt_handle;
typedef struct lt_desc_st *lt_desc;
typedef struct lt_layout_st *lt_layout;
typedef struct lt_preference_st *lt_preference;

typedef struct lt_algorithm {
    uint64_t data[8];
} lt_algorithm;

/* cublasLtMatmulHeuristicResult_t */
typedef struct lt_found {
    lt_algorithm algorithm;
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
} lt_found;

enum {
    LT_COMPUTE_32F = 68,
    LT_R_32F = 0, /* cudaDataType_t */
    LT_R_16F = 2,
    LT_R_16BF = 14,
    LT_LAYOUT_BATCH_COUNT = 5, /* attributes of a matrix layout */
    LT_LAYOUT_BATCH_STRIDE = 6,
    LT_DESC_TRANSPOSE_A = 3, /* attributes of a product */
    LT_DESC_TRANSPOSE_B = 4,
    LT_DESC_EPILOGUE = 7,
    LT_DESC_BIAS_POINTER = 8,
    LT_DESC_BIAS_TYPE = 26,
    LT_EPILOGUE_NONE = 1,
    LT_EPILOGUE_BIAS = 4,
    LT_PREFERENCE_WORKSPACE = 1, /* attributes of a preference */
    LT_PREFERENCE_REDUCTIONS = 3,
    LT_PREFERENCE_ALIGNMENT_A = 5, /* then of B, C and D */
    LT_REDUCE_COMPUTE_TYPE = 2,    /* parts of k are added in float32, not in the type of D */
};

typedef struct cuda_cublaslt {
#define X(member, symbol, result, arguments) result(*member) arguments;
#include "device/cuda/cublaslt.def"
#undef X
} cuda_cublaslt;

/* PGY_E_NOT_FOUND: the library is not there, or lacks functions; remembered for the process. */
pgy_status cuda_cublaslt_open(const cuda_cublaslt **out, pgy_error *err) PGY_MUST_CHECK;

#endif
