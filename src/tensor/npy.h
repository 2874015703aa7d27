/* SPDX-License-Identifier: Apache-2.0 */
/* The npy header as text, for callers that stream the elements themselves (JSON results hold npy
 * files in base64). */
#ifndef TENSOR_NPY_H
#define TENSOR_NPY_H

#include <polygraphy/tensor.h>

#include "base/str.h"

typedef struct npy_header {
    pgy_dtype dtype;     /* PGY_STRING for <U */
    size_t string_width; /* code points per element for <U and bytes for |S */
    bool wide;           /* <U rather than |S */
    bool big_endian, fortran;
    size_t rank;
    int64_t shape[PGY_MAX_RANK];
    size_t count;       /* number of elements */
    size_t data_offset; /* bytes from the start of the file to the first element */
    size_t data_bytes;
} npy_header;

/* `data` must hold the whole header (4096 bytes are enough for files of NumPy), else PGY_E_FORMAT.
 * The elements may be truncated. */
pgy_status npy_header_parse(npy_header *out, const void *data, size_t size_bytes,
                            pgy_error *err) PGY_MUST_CHECK;
/* Writes exactly NumPy's bytes, version 1.0. @return PGY_E_TYPE for a type NumPy lacks */
pgy_status npy_header_write(str *out, pgy_dtype dtype, size_t string_width, size_t rank,
                            const int64_t *shape, pgy_error *err) PGY_MUST_CHECK;

#endif
