/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of a stored tensor, read a piece at a time wherever they are: in the model's file, in an
 * external one, in memory, or not made yet. Nothing of a file stays in memory. */
#ifndef ONNX_READER_H
#define ONNX_READER_H

#include "onnx/model.h"

typedef struct element_reader {
    size_t size_bytes;  /* of all elements */
    const char *name;   /* of the tensor, for messages */
    const void *memory; /* one of these has them */
    const file_map *map;
    size_t map_offset;
    pgy_tensor *whole; /* decoded */
    struct computed_reading *made;
} element_reader;

/* t is a tensor of m or of a model that it keeps, not of strings. The same failures as of
 * pgy_onnx_tensor_load. */
pgy_status element_reader_open(element_reader *out, pgy_model *m, const pgy_onnx_tensor *t,
                               pgy_error *err) PGY_MUST_CHECK;
/* Copies bytes of the elements, which must exist. */
pgy_status element_reader_get(element_reader *r, void *to, size_t offset, size_t size_bytes,
                              pgy_error *err) PGY_MUST_CHECK;
/* `count` pieces whose beginnings are `step` bytes apart, put behind each other. */
pgy_status element_reader_gather(element_reader *r, void *to, size_t offset, size_t size_bytes,
                                 size_t step, size_t count, pgy_error *err) PGY_MUST_CHECK;
void element_reader_close(element_reader *r); /* of zeros: nothing */

#endif
