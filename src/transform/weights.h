/* SPDX-License-Identifier: Apache-2.0 */
/* What pruning, stripping and reconstruction share. */
#ifndef TRANSFORM_WEIGHTS_H
#define TRANSFORM_WEIGHTS_H

#include <polygraphy/weights.h>

#include "base/str.h"

/* Builds a copy of a model with other initializers in the top graph. */
typedef struct weight_edit {
    pgy_model *model; /* the copy that is being built */
    const pgy_onnx_model *from;
    const pgy_onnx_tensor **initializers; /* of the copy, in the order of from->graph */
} weight_edit;
pgy_status weight_edit_init(weight_edit *e, pgy_model *from, pgy_error *err) PGY_MUST_CHECK;
/* New texts of the model; NULL keeps the old text. */
typedef struct weight_edit_texts {
    const char *producer, *doc_string;
} weight_edit_texts;
pgy_status weight_edit_finish(pgy_model **out, weight_edit *e, const weight_edit_texts *texts,
                              pgy_error *err) PGY_MUST_CHECK;
void weight_edit_deinit(weight_edit *e);
/* Index of an initializer of the top graph; SIZE_MAX: there is none. */
size_t weight_edit_find(const weight_edit *e, const pgy_onnx_tensor *t);
/* Copies the tensor record `like`, with another doc string. */
pgy_onnx_tensor *weight_with_doc(pgy_model *m, const pgy_onnx_tensor *like, const char *doc);

/* How a weight in memory divides into groups of four elements along an axis: each block of four
 * consecutive runs of `inner` elements holds `inner` such groups, one element of each group per
 * run. */
typedef struct quad_layout {
    pgy_dtype dtype;
    size_t inner;
    size_t run_bytes, bytes; /* bytes of one run, and of the four runs */
} quad_layout;
/* Finds the layout of an eligible weight. */
pgy_status quads_of(quad_layout *out, const pgy_onnx_tensor *t, size_t axis,
                    pgy_error *err) PGY_MUST_CHECK;
/* Makes `size_bytes` of whole groups 2:4 sparse, in place. */
void quads_prune(const quad_layout *q, void *elements, size_t size_bytes);
/* Does the same as pgy_graph_sparse_weights, but leaves out weights named in `skip` (may be NULL),
 * with a warning. */
pgy_status sparse_weights_find(const pgy_sparse_weight **out, size_t *count, pgy_graph *g,
                               const strmap *skip, pgy_error *err) PGY_MUST_CHECK;
/* Checks all eligible weights and logs the results; puts the names of sparse ones into `sparse`. */
pgy_status sparse_weights_check(strmap *sparse, pgy_graph *g, pgy_error *err) PGY_MUST_CHECK;
/* Makes a record of an eligible weight with pruned elements; m keeps the model of the weight alive.
 */
pgy_status sparse_weight_pruned(pgy_onnx_tensor **out, pgy_model *m, const pgy_onnx_tensor *t,
                                size_t axis, pgy_error *err) PGY_MUST_CHECK;
/* Text in the doc string of each stripped weight, and of its model. */
#define STRIPPED_MARK "TRT_WEIGHTLESS"
bool weight_is_stripped(const pgy_onnx_tensor *t);

#endif
