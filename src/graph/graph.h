/* SPDX-License-Identifier: Apache-2.0 */
/* What stands behind the public graph structs, for the files of this layer and for backends inside
 * the library.
 *
 * One graph_state serves a graph with all its subgraphs and function bodies; each of those is a
 * level. Public structs are the first members of boxes, so a pointer to one is a pointer to the
 * other.
 *
 * Values, nodes, levels and functions have ids: small integers from 0, each kind counted over the
 * whole graph_state, never used again, and the same as long as the graph lives. What a pass, an
 * executor or a check has to remember of them goes into a side table of its own (side_table.h), not
 * into the boxes: those hold what the graph itself is. */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include <polygraphy/graph.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/suggest.h"
#include "ops/dim.h"
#include "ops/op.h"

enum { GRAPH_MAX_DEPTH = 32 };

/* Findings of a check, gathered while a graph is walked. */
typedef struct finding_list {
    pgy_finding *items;
    size_t count, capacity;
    strmap seen; /* code, path and text */
    bool failed; /* out of memory */
} finding_list;

typedef enum check_code {
#define RULE(id, severity, code, text) CHECK_##id,
#include "graph/check_rules.def"
#undef RULE
} check_code;

/* What becomes of nodes that only a newer opset than the model's allows. */
typedef enum newer_versions { NEWER_REFUSED, NEWER_TAKEN, NEWER_WARNED } newer_versions;

typedef struct graph_state {
    arena memory;
    dim_table dims;
    strmap functions;   /* "domain:name:overload" -> graph_function */
    strmap operators;   /* op_type -> what looking it up gave, see node.c */
    pgy_graph **levels; /* all, to be freed */
    size_t level_count, level_capacity;
    pgy_tensor **tensors; /* kept for the life of the graph */
    size_t tensor_count, tensor_capacity;
    size_t value_count, node_count, function_count; /* ids given so far */
    uint64_t name_count;                            /* of made-up names */
    strmap names; /* name -> how many levels have it; see graph_free_name */
    bool names_gathered;
    newer_versions newer;  /* of operators than the model imports */
    int64_t ir_version;    /* that an export needs at least; 0: as it was */
    int64_t channel_block; /* of images in blocks of channels; 0: not looked for yet */
} graph_state;

/* pgy_graph.internal */
typedef struct graph_level {
    graph_state *state;
    size_t id;     /* place in state->levels */
    strmap values; /* name -> pgy_value, of this level */
    pgy_onnx_opset *const *opsets;
    size_t opset_count;
    int64_t default_opset;
    pgy_value **declared; /* inputs as the file lists them, those with initializers included */
    size_t declared_count;
    size_t node_capacity;
    size_t weight_capacity; /* of initializers; 0: as many as there are */
    size_t depth;
    const pgy_node *owner; /* of a subgraph */
    const char *owner_attribute;
    bool changed; /* must be encoded anew */
    bool is_function;
} graph_level;

/* A model-local function; its body is imported when first needed. */
typedef struct graph_function {
    const pgy_onnx_function *proto;
    pgy_graph *body;
    size_t id;
} graph_function;

/* The calls that a walk is in, innermost first, so that it notices a function that calls itself. */
typedef struct call_chain {
    const graph_function *function;
    const struct call_chain *outer; /* NULL: none */
} call_chain;

typedef struct value_box {
    pgy_value value;
    size_t id;
    op_value declared; /* from the file */
    op_value known;    /* after inference */
    const dim *sizes;  /* that inference gave, where the file may have another name for them */
    pgy_node **uses;   /* the array that value.consumers lies in, which has room for */
    size_t room;       /* so many from value.consumers on */
    size_t last_use;   /* place in value.consumers where one was last removed */
    bool data_tried;   /* small weights are read once */
} value_box;

/* What a node was before the opset was converted; shared by the nodes it became. */
typedef struct node_origin {
    const char *name, *op_type;
    int64_t opset;
    bool rewritten;
} node_origin;

typedef struct node_box {
    pgy_node node;
    size_t id;
    size_t last_slot; /* that value_replace_uses changed; the next is likely near */
    bool prepared, has_refs, changed;
    const op_def *def;             /* NULL: unknown operator, or a function */
    const op_signature *signature; /* NULL: none is known */
    graph_function *function;
    int64_t opset;
    op_attr *attrs; /* those that refer to a function's attribute have kind NONE here */
    size_t attr_count;
    pgy_value **captured; /* values of enclosing levels that the subgraphs use */
    size_t captured_count;
    node_origin *origin; /* NULL: never converted */
} node_box;

/* Attributes that nodes of a function body may refer to. */
typedef struct attr_scope {
    const op_attr *attrs;
    size_t count;
} attr_scope;

static inline graph_level *level_of(const pgy_graph *g)
{
    return g->internal;
}
static inline graph_state *state_of(const pgy_graph *g)
{
    return level_of(g)->state;
}
static inline value_box *box_of(pgy_value *v)
{
    return v->internal;
}
static inline node_box *node_box_of(const pgy_node *n)
{
    return n->internal;
}

static inline size_t value_id(const pgy_value *v)
{
    return ((const value_box *)v->internal)->id;
}
static inline size_t node_id(const pgy_node *n)
{
    return node_box_of(n)->id;
}
static inline size_t level_id(const pgy_graph *g)
{
    return level_of(g)->id;
}

pgy_status graph_no_memory(pgy_error *err);
/* A name for messages: the node's, or that of its first output. */
const char *node_label(const pgy_node *n);
/* The node as its operator sees it. Attributes that refer to those of a call are not filled in. */
static inline op_node node_op(const pgy_node *n)
{
    const node_box *box = node_box_of(n);
    return (op_node){.def = box->def,
                     .name = node_label(n),
                     .opset = box->opset,
                     .attrs = box->attrs,
                     .attr_count = box->attr_count,
                     .input_count = n->input_count,
                     .output_count = n->output_count,
                     .signature = box->signature};
}
/* "node 'n3' (Conv)" in front of a text. */
pgy_status node_error(const pgy_node *n, pgy_error *err, pgy_status st, const char *format, ...)
    PGY_PRINTF(4, 5);
bool node_is(const pgy_node *n, const char *op_type); /* of the default domain */
bool domain_is_default(const char *domain);
const pgy_onnx_attribute *node_attribute(const pgy_node *n, const char *name);

/* ---- level.c, import.c, node_basics.c, function.c -------------------------------------------- */
/* An empty level; `parent` NULL for the top and for function bodies. */
pgy_status level_create(pgy_graph **out, graph_state *s, pgy_graph *parent,
                        pgy_error *err) PGY_MUST_CHECK;
/* All levels, and what they are made of. */
void state_destroy(graph_state *s);
pgy_status level_import(pgy_graph *g, const pgy_onnx_graph *proto, pgy_error *err) PGY_MUST_CHECK;
pgy_status level_import_nodes(pgy_graph *g, pgy_onnx_node *const *nodes, size_t count,
                              pgy_error *err) PGY_MUST_CHECK;
pgy_status level_attach_infos(pgy_graph *g, pgy_onnx_value_info *const *infos, size_t count,
                              pgy_error *err) PGY_MUST_CHECK;
pgy_value *level_add_value(pgy_graph *g,
                           const char *name); /* name is kept; NULL: out of memory or present */
pgy_value *level_resolve(const pgy_graph *g,
                         const char *name); /* in this level and those around it */
/* The opset of ONNX's own operators that a function imports; 0: none. */
int64_t function_opset(const pgy_onnx_function *f);
/* *out is NULL if the model has no such function. */
pgy_status function_find(graph_function **out, const pgy_graph *g, const pgy_node *n,
                         pgy_error *err) PGY_MUST_CHECK;
pgy_status function_body(pgy_graph **out, graph_function *f, pgy_graph *g,
                         pgy_error *err) PGY_MUST_CHECK;
bool call_is_open(const call_chain *calls, const graph_function *f);
/* The attributes of a call, with the function's defaults. */
pgy_status function_scope(attr_scope *out, const graph_function *f, const pgy_node *call,
                          const op_attr *attrs, size_t count, arena *memory,
                          pgy_error *err) PGY_MUST_CHECK;

/* ---- clone.c --------------------------------------------------------------------------------- */
/* A copy of a whole graph with all its levels and functions and what is known of its values; ids
 * are the same, so a value's twin is found by its id. The model and the elements of weights are
 * shared, all else is the copy's own: g may be changed or destroyed. g is only read, so several
 * threads may clone it at once. */
pgy_status graph_clone(pgy_graph **out, const pgy_graph *g, pgy_error *err) PGY_MUST_CHECK;

/* ---- edit.c: the smallest edits; edit.h has the others --------------------------------------- */
pgy_status value_add_consumer(pgy_value *v, pgy_node *n, pgy_error *err) PGY_MUST_CHECK;
void value_remove_consumer(pgy_value *v, pgy_node *n); /* one use, the last in the list */
/* The same where n loses all its uses of v, so that it does not matter which goes first. Removing
 * uses in the order of the list, or against it, takes linear time in all. */
void value_drop_consumer(pgy_value *v, pgy_node *n);
/* Tells the index of names, if there is one, that so many more levels have a value of this name. */
void level_count_name(graph_state *s, const char *name, int change);
/* Into the map of a level, under this name; false: out of memory. */
bool level_put_value(pgy_graph *g, const char *name, value_box *box);
/* The map of a level, which is empty then. */
strmap level_take_values(pgy_graph *g);
pgy_value *value_create_unique(pgy_graph *g, const char *stem,
                               pgy_error *err); /* a new value under a free name */
/* Another name for a value of its level, which no other value there may have. */
pgy_status value_rename(pgy_value *v, const char *name, pgy_error *err) PGY_MUST_CHECK;
/* A new node (no proto), appended or put before node `before`; inputs and outputs are linked. */
pgy_status node_create(pgy_node **out, pgy_graph *g, const char *op_type, pgy_value *const *inputs,
                       size_t input_count, pgy_value *const *outputs, size_t output_count,
                       pgy_error *err) PGY_MUST_CHECK;
pgy_status node_set_input(pgy_node *n, size_t i, pgy_value *v, pgy_error *err) PGY_MUST_CHECK;
/* Every consumer of `from` takes `to`. Outputs of graphs are not touched. */
pgy_status value_replace_uses(pgy_value *from, pgy_value *to, pgy_error *err) PGY_MUST_CHECK;
/* Unlinks n and what is inside it from what they use, and its outputs from n; the list of its level
 * still has it. */
void node_unlink(pgy_node *n);
/* Offers the names of a level. */
void graph_suggest(suggestions *out, const pgy_graph *g);
void graph_reindex(pgy_graph *g);
void graph_mark_changed(pgy_graph *g); /* and those around it */
pgy_status state_keep_tensor(graph_state *s, pgy_tensor *t,
                             pgy_error *err) PGY_MUST_CHECK; /* moves in, also on failure */

/* ---- node.c ---------------------------------------------------------------------------------- */
/* Finds the definition and converts the attributes, once. PGY_E_FORMAT */
pgy_status node_prepare(pgy_node *n, pgy_error *err) PGY_MUST_CHECK;
/* From now on: nodes whose opset does not have their operator, or not for their types, are refused,
 * or taken as of the first newer version that has it and computes the same (NEWER_WARNED: a warning
 * for each operator). All nodes are prepared anew. */
void graph_set_newer(pgy_graph *g, newer_versions newer);
/* What was looked up so far, and what was warned of. */
pgy_status operators_copy(graph_state *to, const graph_state *from, pgy_error *err) PGY_MUST_CHECK;
/* Is this the first warning about a version of the operator? */
bool graph_warns_newer(const pgy_node *n);
/* Collects `captured` anew. */
pgy_status node_captures(pgy_node *n, pgy_error *err) PGY_MUST_CHECK;
/* The attributes in a scope (NULL: not in a function). */
pgy_status node_attrs(const op_attr **out, size_t *count, const pgy_node *n,
                      const attr_scope *scope, arena *memory, pgy_error *err) PGY_MUST_CHECK;
/* One attribute; `subgraph` is the level of a graph attribute. */
pgy_status attr_convert(op_attr *out, pgy_graph *g, const pgy_onnx_attribute *a,
                        pgy_graph *subgraph, pgy_error *err) PGY_MUST_CHECK;
/* The tensor of a Constant's `value`, or NULL. */
const pgy_onnx_tensor *node_constant(const pgy_node *n);

/* ---- sort.c ---------------------------------------------------------------------------------- */
/* Nodes of one level in an order that can be run. */
pgy_status graph_order(pgy_node ***out, pgy_graph *g, arena *memory, pgy_error *err) PGY_MUST_CHECK;

/* ---- findings.c ------------------------------------------------------------------------------ */
/* Adds a finding about a node (NULL: the whole model); memory is that of the graph. */
void finding_add(finding_list *list, graph_state *s, check_code code, const pgy_node *n,
                 const char *format, ...) PGY_PRINTF(5, 6);
/* The same about a value of a level, or, with name "", the level itself. */
void finding_add_value(finding_list *list, check_code code, const pgy_graph *g, const char *name,
                       const char *format, ...) PGY_PRINTF(5, 6);
/* The same about a place that is given; its names are kept as they are, the path is copied. */
typedef struct finding_place {
    const char *node, *op_type, *path; /* as in pgy_finding */
} finding_place;
void finding_add_at(finding_list *list, graph_state *s, check_code code, const finding_place *at,
                    const char *format, ...) PGY_PRINTF(5, 6);
/* From the top: "If_3/then_branch/Add_2"; appended. A level: "If_3/then_branch", the top is "". */
void node_path(str *out, const pgy_node *n);
void level_path(str *out, const pgy_graph *g);

/* ---- infer.c, merge.c, value.c --------------------------------------------------------------- */
/* block.c: channels in a block of com.microsoft.nchwc, 8 or 16, as the shapes of the model show it.
 */
int64_t graph_channel_block(graph_state *s);

/* What becomes of contradictions between computed and declared shapes. */
typedef struct merge_rules {
    bool strict;            /* they are errors */
    bool quiet;             /* input shapes were replaced, so declared ones need not fit */
    finding_list *findings; /* of a check, which takes them; NULL: they go to the log */
} merge_rules;
/* Sets what is known of output i of n: computed and declared, merged. `why` tells why something is
 * not known, or is NULL. */
pgy_status merge_output(pgy_node *n, size_t i, const op_value *computed, const char *why,
                        const merge_rules *rules, pgy_error *err) PGY_MUST_CHECK;
/* The types that n's rule would give, had it these attributes, and its inputs of type `from` type
 * `to`. `types`: one for each output. n has no subgraphs. Fails where the operator would refuse. */
typedef struct node_types {
    const op_attr *attrs;
    size_t attr_count;
    pgy_dtype from, to;
} node_types;
pgy_status graph_foresee_types(pgy_dtype *types, pgy_node *n, const node_types *wanted,
                               pgy_error *err) PGY_MUST_CHECK;
/* Inference that goes on behind a node that fails: what is wrong is added to `findings`. */
pgy_status graph_infer_all(pgy_graph *g, finding_list *findings, pgy_error *err) PGY_MUST_CHECK;
/* Infers the outputs of one node, whose inputs are known, and what is inside it; for graphs that
 * are built node by node. */
pgy_status graph_infer_node(pgy_node *n, pgy_error *err) PGY_MUST_CHECK;
/* Every name of `shapes` (NULL: none) is that of an input, or a pattern that one matches;
 * PGY_E_NOT_FOUND suggests some. */
pgy_status graph_check_inputs(const pgy_graph *g, const pgy_metadata *shapes, bool patterns,
                              pgy_error *err) PGY_MUST_CHECK;
/* Type, rank and every dimension are there. */
bool value_is_known(const op_value *v);
/* Weights that are small enough to take part in inference are read into known.data. */
pgy_status value_read_small(pgy_value *v, const pgy_onnx_tensor *t, pgy_error *err) PGY_MUST_CHECK;
/* From a type of the file. PGY_E_FORMAT for element types that do not exist. */
pgy_status value_declare(pgy_value *v, const pgy_onnx_type *type, pgy_error *err) PGY_MUST_CHECK;
/* What a type of the file says, in the memory of `s`; `name` is for messages. */
pgy_status type_declare(op_value *out, pgy_value_kind *kind, graph_state *s,
                        const pgy_onnx_type *type, const char *name, pgy_error *err) PGY_MUST_CHECK;
/* The shape that `info` gives; its rank is known. */
pgy_status value_set_shape(op_value *out, graph_state *s, const pgy_tensor_info *info,
                           pgy_error *err) PGY_MUST_CHECK;
pgy_status value_describe_tensor(pgy_value *v, const pgy_onnx_tensor *t,
                                 pgy_error *err) PGY_MUST_CHECK;
/* Public fields from what is known. */
pgy_status value_publish(pgy_value *v, pgy_error *err) PGY_MUST_CHECK;

#endif
