/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers for adapters: they read a node's attributes and constant inputs, make nodes beside it,
 * and turn it into another one.
 *
 * A rewrite is sticky: after the first failure all calls do nothing and return NULL, so an adapter
 * is a plain list of steps. "Cannot be expressed" is such a failure, with its reason. Adapters run
 * on a copy of the graph first, so they may stop halfway. */
#ifndef TRANSFORM_OPSET_REWRITE_H
#define TRANSFORM_OPSET_REWRITE_H

#include "graph/edit.h"
#include "graph/side_table.h"

/* What a node was before opset conversion; all nodes that replace it share one record. */
typedef struct node_origin {
    const char *name, *op_type;
    int64_t opset;
    bool rewritten;
} node_origin;

SIDE_TABLE(node_origins, node_origin *) /* indexed by node id; NULL: the node was not converted */

typedef struct rewrite {
    pgy_graph *graph;
    pgy_node *node;
    int64_t version;       /* opset that the node must conform to */
    int64_t target;        /* target opset of the whole conversion */
    node_origins *origins; /* records what each node was before; NULL: not recorded */
    pgy_status status;
    pgy_error *err;
} rewrite;

/* Fails because the node cannot be expressed; the reason is one line without the node's name. */
void rw_refuse(rewrite *r, const char *format, ...) PGY_PRINTF(2, 3);
void rw_no_memory(rewrite *r);
/* Records that n was rewritten, or that it is one of the nodes that replace r->node. */
void rw_note_rewritten(rewrite *r, const pgy_node *n);

/* ---- Reading --------------------------------------------------------------------------------- */

pgy_value *rw_input(const rewrite *r, size_t i); /* NULL if omitted */
bool rw_wants(const rewrite *r, size_t i);       /* Does any node or graph output use output i? */
pgy_dtype rw_dtype(const pgy_value *v);          /* NONE: not known */
int32_t rw_rank(const pgy_value *v);             /* -1: not known */
int64_t rw_size(const pgy_value *v,
                int32_t axis); /* -1: not known; negative axes count from the end */
/* Read attributes; references to attributes of the enclosing function are refused. */
const pgy_onnx_attribute *rw_attr(rewrite *r, const char *name); /* NULL if absent */
int64_t rw_int(rewrite *r, const char *name, int64_t fallback);
float rw_float(rewrite *r, const char *name, float fallback);
bool rw_is(rewrite *r, const char *name, const char *text, const char *fallback);
const int64_t *rw_ints(rewrite *r, const char *name, size_t *count); /* NULL if absent */
/* The elements of input i in storage type (op_storage) if it is constant, else NULL. */
const pgy_tensor *rw_constant(rewrite *r, size_t i);
/* The integers of input i; refuses computed inputs and other types, and returns NULL. */
const int64_t *rw_constant_ints(rewrite *r, size_t i, size_t *count);

/* ---- The node itself ------------------------------------------------------------------------- */

void rw_drop(rewrite *r, const char *name);
void rw_set_int(rewrite *r, pgy_node *n, const char *name, int64_t value);
void rw_set_float(rewrite *r, pgy_node *n, const char *name, float value);
void rw_set_ints(rewrite *r, pgy_node *n, const char *name, const int64_t *values, size_t count);
void rw_set_floats(rewrite *r, pgy_node *n, const char *name, const float *values, size_t count);
void rw_set_string(rewrite *r, pgy_node *n, const char *name, const char *text);
/* The texts stay where they are, in memory of the same model. */
void rw_set_strings(rewrite *r, pgy_node *n, const char *name, const pgy_bytes *values,
                    size_t count);
void rw_set_tensor(rewrite *r, pgy_node *n, const char *name, pgy_tensor *t); /* retains t */
/* Sets an attribute that refers to the same attribute of the enclosing function as `from`. */
void rw_set_parameter(rewrite *r, pgy_node *n, const char *name, const pgy_onnx_attribute *from);
/* Sets input i; the list of inputs grows as needed. */
void rw_set_input(rewrite *r, size_t i, pgy_value *v);
void rw_cut_inputs(rewrite *r, size_t count); /* keeps the first `count` inputs */
void rw_cut_outputs(rewrite *r, size_t count);
void rw_rename(rewrite *r, const char *op_type);
/* The node becomes another operator with these inputs and no attributes. */
void rw_become(rewrite *r, const char *op_type, size_t count, ...);
/* Gives output i a new value, so that nodes can be inserted between it and the old one. Returns the
 * old value, for which rw_emit_into must make a producer. */
pgy_value *rw_detach(rewrite *r, size_t i);

/* ---- New nodes ------------------------------------------------------------------------------- */

/* Makes a node with `count` inputs (NULL: omitted) and one output, which is returned and gets the
 * type of the first input. */
pgy_value *rw_emit(rewrite *r, const char *op_type, size_t count, ...);
void rw_emit_into(rewrite *r, pgy_value *out, const char *op_type, size_t count, ...);
/* Set attributes of the node that made v; return v. */
pgy_value *rw_with_int(rewrite *r, pgy_value *v, const char *name, int64_t value);
pgy_value *rw_with_float(rewrite *r, pgy_value *v, const char *name, float value);
pgy_value *rw_with_ints(rewrite *r, pgy_value *v, const char *name, const int64_t *values,
                        size_t count);
/* Constants. */
pgy_value *rw_tensor(rewrite *r, pgy_tensor *t); /* takes over the caller's reference to t */
pgy_value *rw_vector(rewrite *r, const int64_t *values, size_t count); /* int64, rank 1 */
pgy_value *rw_vector1(rewrite *r, int64_t value);
pgy_value *rw_scalar(rewrite *r, pgy_dtype dtype, double value);     /* rank 0 */
pgy_value *rw_floats(rewrite *r, const float *values, size_t count); /* float32, rank 1 */
/* A scalar with the type of `like`, even if that type is not known. */
pgy_value *rw_scalar_like(rewrite *r, double value, pgy_value *like);
pgy_value *rw_cast(rewrite *r, pgy_value *v, pgy_dtype dtype); /* v itself if it has the type */
/* Casts v to the type of `like`. */
pgy_value *rw_cast_like(rewrite *r, pgy_value *v, pgy_value *like);

/* Operators whose inputs and attributes depend on the version. */
pgy_value *rw_reduce(rewrite *r, const char *op_type, pgy_value *x, const int64_t *axes,
                     size_t count); /* keeps dims */
pgy_value *rw_unsqueeze(rewrite *r, pgy_value *x, const int64_t *axes, size_t count);
pgy_value *rw_transpose(rewrite *r, pgy_value *x, const int64_t *perm, size_t count);
/* The size of one axis of x as an int64 list of one element; a constant if the size is known. */
pgy_value *rw_dim(rewrite *r, pgy_value *x, int64_t axis);
/* Numbers 0, 1, ... below the size of `axis` of x, as a matrix in which axis `new_axis` has size 1.
 */
pgy_value *rw_positions(rewrite *r, pgy_value *x, int64_t axis, int64_t new_axis);
pgy_value *rw_concat(rewrite *r, pgy_value *a, pgy_value *b, int64_t axis);
/* Slices one axis; start and end are tensors, as from opset 10 on. */
pgy_value *rw_slice(rewrite *r, pgy_value *x, pgy_value *start, pgy_value *end, int64_t axis,
                    int64_t step);

#endif
