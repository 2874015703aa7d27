/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the elements of a stored tensor piece by piece, wherever they are: in the model's file, in
 * an external file, in memory, or not made yet. No pages of a file stay in memory. */
#ifndef ONNX_READER_H
#define ONNX_READER_H

#include "onnx/model.h"

typedef struct element_reader {
    size_t size_bytes;  /* bytes of all elements */
    const char *name;   /* name of the tensor, for messages */
    const void *memory; /* Exactly one of the following members has the elements. */
    const file_map *map;
    size_t map_offset;
    pgy_tensor *whole; /* the decoded tensor */
    struct computed_reading *made;
} element_reader;

/* t is a tensor of m or of a model that it keeps, and not a tensor of strings. Fails like
 * pgy_onnx_tensor_load. */
pgy_status element_reader_open(element_reader *out, pgy_model *m, const pgy_onnx_tensor *t,
                               pgy_error *err) PGY_MUST_CHECK;
/* Copies bytes of the elements. The range must be inside the tensor. */
pgy_status element_reader_get(element_reader *r, void *to, size_t offset, size_t size_bytes,
                              pgy_error *err) PGY_MUST_CHECK;
/* Copies `count` pieces, whose starts lie `step` bytes apart in the elements, one after the other
 * to `to`. */
pgy_status element_reader_gather(element_reader *r, void *to, size_t offset, size_t size_bytes,
                                 size_t step, size_t count, pgy_error *err) PGY_MUST_CHECK;
void element_reader_close(element_reader *r); /* a zeroed reader is fine */

#endif
