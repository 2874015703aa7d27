/* SPDX-License-Identifier: Apache-2.0 */
/* What pruning, stripping and reconstruction share. */
#ifndef TRANSFORM_WEIGHTS_H
#define TRANSFORM_WEIGHTS_H

#include <polygraphy/weights.h>

#include "base/str.h"

/* A model like another one with other initializers of the top graph. */
typedef struct weight_edit {
    pgy_model *model; /* being built */
    const pgy_onnx_model *from;
    const pgy_onnx_tensor **initializers; /* in the order of from->graph */
} weight_edit;
pgy_status weight_edit_init(weight_edit *e, pgy_model *from, pgy_error *err) PGY_MUST_CHECK;
/* NULL where a text stays. Moves the model out. */
typedef struct weight_edit_texts {
    const char *producer, *doc_string;
} weight_edit_texts;
pgy_status weight_edit_finish(pgy_model **out, weight_edit *e, const weight_edit_texts *texts,
                              pgy_error *err) PGY_MUST_CHECK;
void weight_edit_deinit(weight_edit *e);
/* Index of an initializer of the top graph; SIZE_MAX: there is none. */
size_t weight_edit_find(const weight_edit *e, const pgy_onnx_tensor *t);
/* The record with this doc string. */
pgy_onnx_tensor *weight_with_doc(pgy_model *m, const pgy_onnx_tensor *like, const char *doc);

/* Makes 2:4 sparsity in place; the view is compact and of an eligible type and shape. */
void weight_prune(pgy_view v, size_t axis);
/* As pgy_graph_sparse_weights; those of names in `skip` (may be NULL) are left out with a warning.
 */
pgy_status sparse_weights_find(const pgy_sparse_weight **out, size_t *count, pgy_graph *g,
                               const strmap *skip, pgy_error *err) PGY_MUST_CHECK;
/* Checks them all and logs what is found; names of sparse ones go into `sparse`. */
pgy_status sparse_weights_check(strmap *sparse, pgy_graph *g, pgy_error *err) PGY_MUST_CHECK;
/* Elements of w's record (of model m), pruned. */
pgy_status sparse_weight_pruned(pgy_tensor **out, pgy_model *m, const pgy_onnx_tensor *t,
                                size_t axis, pgy_error *err) PGY_MUST_CHECK;
bool weight_is_stripped(const pgy_onnx_tensor *t);

#endif
