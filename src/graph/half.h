/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the conversion to 16-bit floats share: half.c inserts the Casts, half_choose.c
 * selects the nodes, half_data.c converts weights and attributes. */
#ifndef GRAPH_HALF_H
#define GRAPH_HALF_H

#include "graph/guard.h"

enum { HALF_ONNX_FLOAT = 1 };

/* The type that replaces float32. */
typedef struct half_type {
    pgy_dtype dtype;
    int64_t onnx;
    const char *name, *suffix;
    float largest;
    uint16_t (*from)(double v);
} half_type;

typedef struct halver {
    const half_type *type;
    const pgy_half_options *options;
    bool *used; /* for each entry of options->keep: whether it matched a node; an unused entry is
                   reported */
    id_marks *wide; /* nodes that stay float32, by node id */
    id_marks *half; /* values that were converted to 16 bits, by value id */
    graph_guards *guards;
    id_marks *sizes; /* values from which tensor sizes are computed; the nodes that compute them
                        stay float32 */
} halver;

/* ---- half_choose.c --------------------------------------------------------------------------- */
/* Marks the nodes that stay float32, with the nodes of their subgraphs. */
pgy_status half_mark_wide(const halver *h, pgy_graph *g, bool inside,
                          pgy_error *err) PGY_MUST_CHECK;
/* Does an entry of options->keep (node name, wildcard or operator) match n? */
bool half_is_named(const halver *h, const pgy_node *n);
/* Does the attribute hold an output type as a TensorProto.DataType number, as Cast's `to` does? */
bool half_is_type_attribute(const char *name);
static inline bool half_is_wide(const halver *h, const pgy_node *n)
{
    return id_marks_get(h->wide, node_id(n));
}

/* ---- half_data.c ----------------------------------------------------------------------------- */
/* Makes a 16-bit weight whose elements are converted when the model is saved; *out stays NULL if v
 * is not float32. */
pgy_status half_weight(const pgy_onnx_tensor **out, const halver *h, const pgy_value *v,
                       pgy_error *err) PGY_MUST_CHECK;
/* Convert node n to 16 bits: attributes that hold types or tensors, or whose default is float32;
 * the value of a Constant. */
pgy_status half_attributes(const halver *h, pgy_node *n, pgy_error *err) PGY_MUST_CHECK;
pgy_status half_constant(const halver *h, pgy_node *n, pgy_error *err) PGY_MUST_CHECK;
/* The new attribute lives in the model, because exported models outlive the graph. */
pgy_onnx_attribute *half_new_attribute(pgy_graph *g);

#endif
