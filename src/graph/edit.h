/* SPDX-License-Identifier: Apache-2.0 */
/* The edits that passes, folding, patterns, opset conversion and the network builder share. The
 * smallest ones (node_create, node_set_input, value_replace_uses, value_create_unique, node_unlink)
 * are in graph.h.
 *
 * An edit never frees anything. A removed node is unlinked, which sets its `graph` to NULL, and
 * stays in the list of its level until graph_sweep. New records (weights, attributes) belong to the
 * graph's model, which every exported model keeps alive. */
#ifndef GRAPH_EDIT_H
#define GRAPH_EDIT_H

#include "graph/graph.h"
#include "graph/names.h"

/* ---- edit.c ---------------------------------------------------------------------------------- */

/* Returns `stem` if that name is free, else "<stem>_<n>", in the graph's memory; NULL: out of
 * memory. If `taken` is NULL, a name is taken when a value of any level has it. */
const char *graph_free_name(graph_state *s, const char *stem, name_is_taken taken,
                            const void *user);
/* Makes v output i of n and n the producer of v. */
void node_set_output(pgy_node *n, size_t i, pgy_value *v);
/* Makes the producer of x write y, and the consumers of x read y. y must have no producer;
 * afterwards x has no producer. */
pgy_status value_take_over(pgy_value *x, pgy_value *y, pgy_error *err) PGY_MUST_CHECK;
/* Removes unlinked nodes from the list of their level. */
void graph_sweep(pgy_graph *level);

/* ---- attribute.c ----------------------------------------------------------------------------- */

/* Creates an attribute with the type and value of `value`. `name` is borrowed, not copied; NULL:
 * out of memory. */
pgy_onnx_attribute *attribute_create(pgy_model *m, const char *name,
                                     const pgy_onnx_attribute *value);
/* Creates an attribute of integers, which are copied. */
pgy_onnx_attribute *attribute_create_ints(pgy_model *m, const char *name, const int64_t *values,
                                          size_t count);
/* Copies `from` under another name. The copy drops the encoded bytes of `from`, so it is encoded
 * anew. */
pgy_onnx_attribute *attribute_renamed(pgy_model *m, const pgy_onnx_attribute *from,
                                      const char *name);
/* Replaces the attribute `name` of n by `a`, or adds it; NULL removes it. Marks n as changed. */
pgy_status node_replace_attribute(pgy_node *n, const char *name, const pgy_onnx_attribute *a,
                                  pgy_error *err) PGY_MUST_CHECK;
/* Replaces all attributes of n by `a`; NULL removes them all. */
pgy_status node_set_only_attribute(pgy_node *n, const pgy_onnx_attribute *a,
                                   pgy_error *err) PGY_MUST_CHECK;

/* ---- weight.c -------------------------------------------------------------------------------- */

/* Gives the size of a stored tensor's elements in memory, in bytes; 0: its type or shape is
 * invalid. */
uint64_t weight_bytes(const pgy_onnx_tensor *t);
/* Copies the record of a stored tensor under another name and shape; the elements are shared with
 * `t`. NULL: out of memory. */
pgy_onnx_tensor *weight_renamed(pgy_model *m, const pgy_onnx_tensor *t, const char *name,
                                const int64_t *dims, size_t dim_count);
/* Makes a stored tensor with the elements of t. They are copied if t is a view of a model's file.
 */
pgy_status weight_create(const pgy_onnx_tensor **out, pgy_model *m, const char *name, pgy_tensor *t,
                         pgy_error *err) PGY_MUST_CHECK;
/* Turns v into a weight with the elements of t; the caller has unlinked the producer of v. */
pgy_status value_set_weight(pgy_value *v, const pgy_onnx_tensor *t, pgy_error *err) PGY_MUST_CHECK;
/* Turns v into a weight, or in a function body, which cannot have weights, into the output of a new
 * Constant. */
pgy_status value_set_constant(pgy_value *v, const pgy_onnx_tensor *t,
                              pgy_error *err) PGY_MUST_CHECK;
/* Creates a weight in `level`: an int64 tensor of rank 1 with a copy of `values`. */
pgy_status value_create_ints(pgy_value **out, pgy_graph *level, const char *stem,
                             const int64_t *values, size_t count, pgy_error *err) PGY_MUST_CHECK;

/* ---- splice.c -------------------------------------------------------------------------------- */

/* The new node list of a level, built while the old one is read: each node is kept, or replaced by
 * the nodes of a function body or of a branch. */
typedef struct node_splice {
    pgy_graph *level;
    pgy_node **nodes;
    size_t count, capacity;
} node_splice;

void splice_deinit(node_splice *s);
pgy_status splice_keep(node_splice *s, pgy_node *n, pgy_error *err) PGY_MUST_CHECK;
/* Appends all nodes of `from` to the new list and moves them to its level; `from` is empty
 * afterwards. */
pgy_status splice_move(node_splice *s, pgy_graph *from, pgy_error *err) PGY_MUST_CHECK;
/* Appends a new Identity node that reads `from` and writes `to`. */
pgy_status splice_identity(node_splice *s, pgy_value *from, pgy_value *to,
                           pgy_error *err) PGY_MUST_CHECK;
/* Replaces the level's node list by the new one. */
pgy_status splice_install(const node_splice *s, pgy_error *err) PGY_MUST_CHECK;

#endif
