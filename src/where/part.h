/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a model as a model of its own. Values that are handed to it become its inputs, and only
 * what the wanted tensors need stays. Two uses: a segment of the walk is handed what earlier
 * segments computed; nodes that run alone are handed the reference's values. */
#ifndef WHERE_PART_H
#define WHERE_PART_H

#include <polygraphy/graph.h>

#include "base/str.h"

typedef struct where_part {
    pgy_model *model;
    void *bytes; /* serialized, if where_part_serialize made it */
    size_t size_bytes;
    strvec inputs, origins; /* inputs of the model, and the tensors of the whole model that they
                               stand for */
    strvec outputs;
} where_part;

/* Tensors of `handed` are read from inputs "handed/<name>" by all nodes; a tensor that is not in it
 * stays connected. A node that a wanted output needs stays, also if the output itself is handed. */
pgy_status where_part_make(where_part *out, pgy_model *whole, const pgy_tensor_map *handed,
                           const char *const *outputs, size_t count, pgy_error *err) PGY_MUST_CHECK;
/* A part that gives elements `begin` to `end` - 1 of a tensor, in row-major order.
 * PGY_E_UNSUPPORTED: the model's opset has no Slice with inputs */
pgy_status where_part_make_slice(where_part *out, pgy_model *whole, const pgy_tensor_map *handed,
                                 const char *name, uint64_t begin, uint64_t end,
                                 pgy_error *err) PGY_MUST_CHECK;
void where_part_deinit(where_part *p);
/* Sets `bytes`, unless the part is too large for one buffer. */
pgy_status where_part_serialize(where_part *p, pgy_error *err) PGY_MUST_CHECK;
/* The data of the part's inputs; `first` goes before `second`, `inputs` has those of the model. */
pgy_status where_part_feed(pgy_tensor_map **out, const where_part *p, const pgy_tensor_map *first,
                           const pgy_tensor_map *second, const pgy_tensor_map *inputs,
                           pgy_error *err) PGY_MUST_CHECK;
/* The part declares the shapes of what it was handed. Does the feed of another sample have them? */
bool where_part_fits(const where_part *p, const pgy_tensor_map *feed);

#endif
