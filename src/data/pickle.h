/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the pickle of torch's archives, but only the part of the format that one plain tensor
 * needs. It never calls or imports anything: names are compared with a short list, and everything
 * else is refused. */
#ifndef DATA_PICKLE_H
#define DATA_PICKLE_H

#include <polygraphy/tensor.h>

#include "base/str.h"

typedef struct pickle_tensor {
    pgy_dtype dtype;
    span key; /* names the storage: a view into the pickle */
    size_t storage_bytes;
    size_t offset; /* place of the tensor's first element in the storage, in elements */
    size_t rank;
    int64_t shape[PGY_MAX_RANK], strides[PGY_MAX_RANK]; /* none is negative */
} pickle_tensor;

pgy_status pickle_tensor_read(pickle_tensor *out, const void *data, size_t size_bytes,
                              pgy_error *err) PGY_MUST_CHECK;

#endif
