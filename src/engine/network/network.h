/* SPDX-License-Identifier: Apache-2.0 */
/* The network's internals: records of layers over a graph, and the builder that all constructors of
 * layers use.
 *
 * A constructor opens a builder, names its inputs, emits ONNX nodes and names its outputs; finish
 * infers what was not inferred yet. A builder is sticky: after the first failure its calls do
 * nothing, values are NULL, and finish removes what was added. */
#ifndef ENGINE_NETWORK_NETWORK_H
#define ENGINE_NETWORK_NETWORK_H

#include <polygraphy/network.h>

#include "graph/graph.h"

enum { NETWORK_OPSET = 24, NETWORK_IR_VERSION = 12, MAX_LAYER_NODES = 64 };

/* Shared by all levels of a network: its main graph and the bodies of loops and conditionals. */
typedef struct network_root {
    pgy_graph *graph;
    size_t layer_numbers; /* counter for made-up names */
    char *refused;        /* the reason why layers cannot be added; NULL: they can be */
    pgy_network **levels; /* a network for the main graph and for each body */
    size_t level_count, level_capacity;
    pgy_value **debug;
    size_t debug_count, debug_capacity;
    const char **debug_names;
} network_root;

/* A condition that must be true, and the layer that asserts it. */
typedef struct assertion {
    pgy_layer *layer;
    const char *message;
    bool placed; /* its node was added */
} assertion;

struct pgy_network {
    network_root *root;
    pgy_graph *level;
    bool closed; /* for a body of a loop or conditional: no more layers can be added */
    pgy_layer **layers;
    size_t layer_count, layer_capacity;
    assertion *assertions;
    size_t assertion_count, assertion_capacity;
    pgy_value **outputs; /* the graph's list of outputs, if it was allocated here; room for
                            output_capacity */
    size_t output_capacity;
    size_t open_count; /* loops and conditionals that are still open */
};

/* pgy_layer.internal; the public struct is its first member. */
typedef struct layer_box {
    pgy_layer layer;
    void *owner; /* for a layer of a loop or conditional: that pgy_loop or pgy_conditional */
    size_t slot; /* index of the recurrence or output in `owner` */
} layer_box;

/* ---- network.c ------------------------------------------------------------------------------- */

pgy_status network_no_memory(pgy_error *err);
/* Makes a network for a level of the same graph. */
pgy_status network_add_level(pgy_network **out, network_root *root, pgy_graph *level,
                             pgy_error *err) PGY_MUST_CHECK;
pgy_status network_add_record(pgy_network *net, pgy_layer *layer, pgy_error *err) PGY_MUST_CHECK;
/* Opens the graph of a model with one network over it; the caller runs inference. */
pgy_status network_open(pgy_network **out, pgy_model *model, pgy_error *err) PGY_MUST_CHECK;
/* Adds an input to a level, with the type and shape of `known`. */
pgy_status network_declare_input(pgy_value **out, pgy_graph *level, const char *name,
                                 const op_value *known, pgy_error *err) PGY_MUST_CHECK;
pgy_status network_add_output(pgy_network *net, pgy_value *v, pgy_error *err) PGY_MUST_CHECK;
/* May a layer of `net` read v, which may belong to another level? */
bool network_can_see(const pgy_network *net, const pgy_value *v);
bool network_is_linked(const pgy_value *v); /* input, constant, or made by an existing node */
/* Appends a text such as "'x' float32 [1, 3, ?]". */
void network_describe_value(str *out, const pgy_value *v);
pgy_status network_infer(pgy_network *net, pgy_error *err) PGY_MUST_CHECK;
pgy_status network_import_domain(network_root *root, const char *domain,
                                 pgy_error *err) PGY_MUST_CHECK;

/* ---- layers.c -------------------------------------------------------------------------------- */

pgy_layer_type layer_type_of(const pgy_node *n);

/* ---- edit.c ---------------------------------------------------------------------------------- */

void layer_set_precision_field(pgy_layer *layer);

/* ---- build.c --------------------------------------------------------------------------------- */

typedef struct builder {
    pgy_network *net;
    pgy_layer_type type;
    layer_box *box;
    pgy_value *inputs[MAX_LAYER_NODES];
    size_t input_count;
    pgy_value **more_inputs; /* for layers with any number of inputs; replaces the array above */
    pgy_value *outputs[MAX_LAYER_NODES];
    size_t output_count;
    size_t first_node, inferred, first_weight; /* at the start; weights: of the top level */
    bool keep_names;
    pgy_status status;
    pgy_error *err;
} builder;

/* Opens a builder for a layer with these required inputs (NULL is an error); more can follow. */
builder build_start(pgy_network *net, pgy_layer_type type, pgy_error *err);
builder build_with(pgy_network *net, pgy_layer_type type, pgy_value *input, pgy_error *err);
/* Adds a required input; build_optional adds one that may be NULL. */
void build_input(builder *b, pgy_value *v, const char *what);
void build_optional(builder *b, pgy_value *v);
void build_list(builder *b, pgy_value *const *inputs, size_t count); /* any number, all required */
void build_output(builder *b, pgy_value *v);
/* Records the emitted nodes as a layer, *out (may be NULL). */
pgy_status build_finish(builder *b, pgy_layer **out) PGY_MUST_CHECK;
/* Like build_finish, but makes no record; a failure removes what was added. */
pgy_status build_commit(builder *b) PGY_MUST_CHECK;
void build_abandon(builder *b); /* removes what was added, also after a commit */
void build_fail(builder *b, pgy_status st, const char *format, ...) PGY_PRINTF(3, 4);

/* Adds a node and returns its only output. `op`: "Relu", or with a domain "com.microsoft:Gelu". */
pgy_value *build_emit(builder *b, const char *op, size_t count, ...);
pgy_value *build_emit_list(builder *b, const char *op, pgy_value *const *inputs, size_t count);
/* Adds a node with several outputs; NULL after a failure. */
pgy_node *build_node(builder *b, const char *op, pgy_value *const *inputs, size_t count,
                     size_t output_count);
/* Sets an attribute of the node that made v, and returns v. */
pgy_value *build_int(builder *b, pgy_value *v, const char *name, int64_t value);
pgy_value *build_float(builder *b, pgy_value *v, const char *name, double value);
pgy_value *build_ints(builder *b, pgy_value *v, const char *name, const int64_t *values,
                      size_t count);
pgy_value *build_floats(builder *b, pgy_value *v, const char *name, const float *values,
                        size_t count);
pgy_value *build_text(builder *b, pgy_value *v, const char *name, const char *text);

/* Makes a constant, which becomes a weight of the main graph. */
pgy_value *build_tensor(builder *b, pgy_tensor *t, const char *stem); /* retains */
pgy_value *build_vector(builder *b, const int64_t *values, size_t count);
pgy_value *build_index(builder *b, int64_t value);                  /* int64, rank 0 */
pgy_value *build_number(builder *b, pgy_dtype dtype, double value); /* rank 0 */

/* Sets `levels` as graph attributes of a node. */
void build_attach(builder *b, pgy_node *n, const char *const *names, pgy_graph *const *levels,
                  size_t count);
/* Opens a new level below that of `net`. */
pgy_status build_open_level(pgy_network **out, pgy_network *net, pgy_error *err) PGY_MUST_CHECK;
/* Gives a level its outputs, an Identity of each value; drops those of an earlier attempt. */
void build_level_outputs(builder *b, pgy_value *const *values, size_t count);
/* Sets the nodes and the output (NULL: none) of a layer when its loop or conditional is closed. */
pgy_status build_give(pgy_layer *layer, pgy_value *output, pgy_node *const *nodes,
                      size_t node_count, pgy_error *err) PGY_MUST_CHECK;

/* The inferred type, rank or size of a value; infers the nodes emitted so far. */
pgy_dtype build_dtype(builder *b, const pgy_value *v);
int32_t build_rank(builder *b, const pgy_value *v);               /* fails if unknown */
int64_t build_size(builder *b, const pgy_value *v, int32_t axis); /* -1: known only at run time */
int32_t build_axis(builder *b, int32_t axis, int32_t rank);       /* fails if out of range */
int32_t build_mask_axis(builder *b, uint32_t mask, int32_t rank); /* of the mask's only bit */
size_t build_mask_axes(builder *b, int64_t *axes, uint32_t mask, int32_t rank);

/* Common nodes. */
pgy_value *build_cast(builder *b, pgy_value *v, pgy_dtype dtype); /* v itself if it has this type */
pgy_value *build_transpose(builder *b, pgy_value *v, const int64_t *perm, int32_t rank);
pgy_value *build_reshape(builder *b, pgy_value *v, const int64_t *dims, size_t count);
pgy_value *build_unsqueeze(builder *b, pgy_value *v, int64_t axis);
pgy_value *build_squeeze(builder *b, pgy_value *v, int64_t axis);
/* One element of the shape of v, or of a vector: int64, rank 0. */
pgy_value *build_dim(builder *b, pgy_value *v, int64_t axis);
pgy_value *build_element(builder *b, pgy_value *vector, int64_t i);
pgy_value *build_scalar(builder *b, pgy_value *v); /* one element as rank 0 */

/* ---- plugin.c -------------------------------------------------------------------------------- */

pgy_status network_place_assertions(pgy_network *net, pgy_error *err) PGY_MUST_CHECK;

#endif
