/* SPDX-License-Identifier: Apache-2.0 */
/* The edits that passes, folding, patterns, opset conversion and the network builder share. The
 * smallest ones (node_create, node_set_input, value_replace_uses, value_create_unique, node_unlink)
 * are in graph.h.
 *
 * An edit never frees anything. A node that is taken out is unlinked, which sets its `graph` to
 * NULL, and stays in the list of its level until graph_sweep. New records (weights, attributes)
 * belong to the model that the graph came from, which lives as long as what is exported. */
#ifndef GRAPH_EDIT_H
#define GRAPH_EDIT_H

#include "graph/graph.h"
#include "graph/names.h"

/* ---- edit.c ---------------------------------------------------------------------------------- */

/* `stem` if it is free, else "<stem>_<n>", in the memory of the graph; NULL: out of memory. `taken`
 * NULL: a value of any level has the name. */
const char *graph_free_name(graph_state *s, const char *stem, name_is_taken taken,
                            const void *user);
/* v becomes output i of n, and has no other producer from then on. */
void node_set_output(pgy_node *n, size_t i, pgy_value *v);
/* The producer of x makes y instead, and whoever reads x reads y. Before, y has no producer; after,
 * x has none. */
pgy_status value_take_over(pgy_value *x, pgy_value *y, pgy_error *err) PGY_MUST_CHECK;
/* Removes unlinked nodes from the list of their level. */
void graph_sweep(pgy_graph *level);

/* ---- attribute.c ----------------------------------------------------------------------------- */

/* An attribute of this kind and value under a name that is kept as it is; NULL: out of memory. */
pgy_onnx_attribute *attribute_create(pgy_model *m, const char *name,
                                     const pgy_onnx_attribute *value);
/* The same, of integers, which are copied. */
pgy_onnx_attribute *attribute_create_ints(pgy_model *m, const char *name, const int64_t *values,
                                          size_t count);
/* What `from` holds under another name; the file's bytes of `from` are not those of the copy. */
pgy_onnx_attribute *attribute_renamed(pgy_model *m, const pgy_onnx_attribute *from,
                                      const char *name);
/* `a` is the only attribute of n from now on; NULL: n has none. */
pgy_status node_set_only_attribute(pgy_node *n, const pgy_onnx_attribute *a,
                                   pgy_error *err) PGY_MUST_CHECK;

/* ---- weight.c -------------------------------------------------------------------------------- */

/* Bytes of a stored tensor once it is read; 0: its type or shape is invalid. */
uint64_t weight_bytes(const pgy_onnx_tensor *t);
/* A stored tensor under another name and shape, whose bytes are those of `t`; NULL: out of memory.
 */
pgy_onnx_tensor *weight_renamed(pgy_model *m, const pgy_onnx_tensor *t, const char *name,
                                const int64_t *dims, size_t dim_count);
/* A stored tensor from elements, which are copied if they are a view of the model's file. */
pgy_status weight_create(const pgy_onnx_tensor **out, pgy_model *m, const char *name, pgy_tensor *t,
                         pgy_error *err) PGY_MUST_CHECK;
/* v, which has no producer any more, is this weight from now on. */
pgy_status value_set_weight(pgy_value *v, const pgy_onnx_tensor *t, pgy_error *err) PGY_MUST_CHECK;
/* The same; in a function, which has no weights, v becomes the output of a new Constant. */
pgy_status value_set_constant(pgy_value *v, const pgy_onnx_tensor *t,
                              pgy_error *err) PGY_MUST_CHECK;
/* A new weight of this level: int64, rank 1. */
pgy_status value_create_ints(pgy_value **out, pgy_graph *level, const char *stem,
                             const int64_t *values, size_t count, pgy_error *err) PGY_MUST_CHECK;

/* ---- splice.c -------------------------------------------------------------------------------- */

/* The list that a level is to have, made while the old one is walked: nodes are kept, or give way
 * to those of a function's body or of a branch. */
typedef struct node_splice {
    pgy_graph *level;
    pgy_node **nodes;
    size_t count, capacity;
} node_splice;

void splice_deinit(node_splice *s);
pgy_status splice_keep(node_splice *s, pgy_node *n, pgy_error *err) PGY_MUST_CHECK;
/* The nodes of `from` move to the level, behind those that were kept; `from` has none then. */
pgy_status splice_move(node_splice *s, pgy_graph *from, pgy_error *err) PGY_MUST_CHECK;
/* Keeps a new Identity that makes `to` from `from`. */
pgy_status splice_identity(node_splice *s, pgy_value *from, pgy_value *to,
                           pgy_error *err) PGY_MUST_CHECK;
/* The level has these nodes from now on. */
pgy_status splice_install(const node_splice *s, pgy_error *err) PGY_MUST_CHECK;

#endif
