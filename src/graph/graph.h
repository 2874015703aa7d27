/* SPDX-License-Identifier: Apache-2.0 */
/* The internals of the public graph structs, for the files of this layer and for backends inside
 * the library.
 *
 * One graph_state serves the main graph with all its subgraphs and function bodies. Each of these
 * node lists is called a level. A public struct is the first member of its internal "box"
 * (value_box, node_box), so a pointer to the public struct is also a pointer to the box.
 *
 * Values, nodes, levels and functions have ids: small integers from 0, counted per kind over the
 * whole graph_state, never reused, and constant as long as the graph lives. A pass, executor or
 * check that must remember something about a value or node keeps it in its own side table
 * (side_table.h), indexed by id. The boxes hold only what belongs to the graph itself. */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include <polygraphy/graph.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/suggest.h"
#include "ops/dim.h"
#include "ops/op.h"

enum { GRAPH_MAX_DEPTH = 32 };

/* Findings of a check, gathered while it visits a graph. */
typedef struct finding_list {
    pgy_finding *items;
    size_t count, capacity;
    strmap seen; /* the findings so far, as code + path + text, to drop repeated ones */
    bool failed; /* out of memory */
} finding_list;

typedef enum check_code {
#define RULE(id, severity, code, text) CHECK_##id,
#include "graph/check_rules.def"
#undef RULE
} check_code;

/* How to treat a node that its operator allows only in a newer opset than the model imports: refuse
 * it, accept it, or accept it with a warning. */
typedef enum newer_versions { NEWER_REFUSED, NEWER_TAKEN, NEWER_WARNED } newer_versions;

typedef struct graph_state {
    arena memory;
    dim_table dims;
    strmap functions;   /* "domain:name:overload" -> graph_function */
    strmap operators;   /* op_type -> known_operator, the cached look-up of node.c */
    pgy_graph **levels; /* every level, indexed by id; state_destroy frees them */
    size_t level_count, level_capacity;
    pgy_tensor **tensors; /* references that the graph holds until it is destroyed */
    size_t tensor_count, tensor_capacity;
    size_t value_count, node_count, function_count; /* next free id of each kind */
    uint64_t name_count;                            /* next number to append to a generated name */
    strmap names; /* value name -> number of levels with such a value; for graph_free_name */
    bool names_gathered;
    newer_versions newer; /* how to treat nodes that need a newer opset than the model imports */
    int64_t ir_version;   /* lowest IR version that an export needs; 0: unchanged */
    const struct pattern_watch
        *watch;            /* of the fusing pass that runs (transform/pattern.h), or NULL */
    int64_t channel_block; /* channels per block (block.c); 0: not determined yet */
} graph_state;

/* pgy_graph.internal */
typedef struct graph_level {
    graph_state *state;
    size_t id;     /* index in state->levels */
    strmap values; /* name -> pgy_value; only values of this level */
    pgy_onnx_opset *const *opsets;
    size_t opset_count;
    int64_t default_opset;
    pgy_value **declared; /* the inputs that the file lists, including those with an initializer as
                             default */
    size_t declared_count;
    size_t node_capacity;
    size_t weight_capacity; /* allocated entries of the array of initializers; 0: the array has no
                               spare entry */
    size_t depth;
    const pgy_node *owner; /* for a subgraph: the node (If, Loop, ...) that holds it; else NULL */
    const char *owner_attribute;
    bool changed; /* an export must encode the level anew instead of copying its stored bytes */
    bool is_function;
} graph_level;

/* A model-local function; its body is imported when first needed. */
typedef struct graph_function {
    const pgy_onnx_function *proto;
    pgy_graph *body;
    size_t id;
} graph_function;

/* The function calls that are open (their body is being visited), innermost first. A function that
 * is in the chain already calls itself, which is an error. */
typedef struct call_chain {
    const graph_function *function;
    const struct call_chain *outer; /* the enclosing call; NULL: none */
} call_chain;

typedef struct value_box {
    pgy_value value;
    size_t id;
    op_value declared; /* type and shape in the file */
    op_value known;    /* type, shape and elements after inference */
    /* dimensions as inference computed them; `known` may use the file's names instead */
    const dim *sizes;
    pgy_node **uses; /* array that holds value.consumers */
    size_t room;     /* capacity of value.consumers: entries from there to the end of `uses` */
    /* index in value.consumers of the last removal; the next search starts there */
    size_t last_use;
    bool data_tried; /* value_read_small ran for this weight; it is not read again */
} value_box;

typedef struct node_box {
    pgy_node node;
    size_t id;
    size_t last_slot; /* input that value_replace_uses last changed; its next search starts there */
    bool prepared, has_refs, changed;
    const op_def *def;             /* NULL: unknown operator, or a function */
    const op_signature *signature; /* NULL: the operator has no known signature */
    graph_function *function;
    int64_t opset;
    op_attr *attrs; /* an attribute that refers to one of the function (ref_attr_name) has kind NONE
                       here */
    size_t attr_count;
    pgy_value **captured; /* values of enclosing levels that the node's subgraphs read */
    size_t captured_count;
} node_box;

/* The attributes of a function call, to which nodes of the function body may refer (ref_attr_name).
 */
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
/* Describes a node for its operator. Attributes that refer to a function call's attribute
 * (ref_attr_name) are not resolved. */
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
/* Sets an error with "node 'n3' (Conv)" in front of the text. */
pgy_status node_error(const pgy_node *n, pgy_error *err, pgy_status st, const char *format, ...)
    PGY_PRINTF(4, 5);
bool node_is(const pgy_node *n,
             const char *op_type); /* True for an operator of the default domain. */
bool domain_is_default(const char *domain);
const pgy_onnx_attribute *node_attribute(const pgy_node *n, const char *name);

/* ---- level.c, import.c, node_basics.c, function.c -------------------------------------------- */
/* Creates an empty level; `parent` is NULL for the main graph and for function bodies. */
pgy_status level_create(pgy_graph **out, graph_state *s, pgy_graph *parent,
                        pgy_error *err) PGY_MUST_CHECK;
/* Frees the state with all its levels, values and nodes. */
void state_destroy(graph_state *s);
pgy_status level_import(pgy_graph *g, const pgy_onnx_graph *proto, pgy_error *err) PGY_MUST_CHECK;
pgy_status level_import_nodes(pgy_graph *g, pgy_onnx_node *const *nodes, size_t count,
                              pgy_error *err) PGY_MUST_CHECK;
pgy_status level_attach_infos(pgy_graph *g, pgy_onnx_value_info *const *infos, size_t count,
                              pgy_error *err) PGY_MUST_CHECK;
pgy_value *level_add_value(pgy_graph *g,
                           const char *name); /* name is borrowed; NULL: out of memory or present */
pgy_value *level_resolve(const pgy_graph *g,
                         const char *name); /* searches this level, then the enclosing ones */
/* The opset of the default domain that a function imports; 0: it imports none. */
int64_t function_opset(const pgy_onnx_function *f);
/* *out is NULL if the model has no such function. */
pgy_status function_find(graph_function **out, const pgy_graph *g, const pgy_node *n,
                         pgy_error *err) PGY_MUST_CHECK;
pgy_status function_body(pgy_graph **out, graph_function *f, pgy_graph *g,
                         pgy_error *err) PGY_MUST_CHECK;
bool call_is_open(const call_chain *calls, const graph_function *f);
/* Collects the attributes of a call, with the function's defaults for those that it omits. */
pgy_status function_scope(attr_scope *out, const graph_function *f, const pgy_node *call,
                          const op_attr *attrs, size_t count, arena *memory,
                          pgy_error *err) PGY_MUST_CHECK;

/* ---- clone.c --------------------------------------------------------------------------------- */
/* Copies a whole graph with all its levels, functions and inference results. Ids stay the same, so
 * the copy of a value is found by the value's id. The copy shares the model and the elements of
 * weights and owns everything else, so g may be changed or destroyed. g is only read, so several
 * threads may clone it at once. */
pgy_status graph_clone(pgy_graph **out, const pgy_graph *g, pgy_error *err) PGY_MUST_CHECK;

/* ---- edit.c: the basic edits of links and values; edit.h has the others
 * --------------------------------------- */
pgy_status value_add_consumer(pgy_value *v, pgy_node *n, pgy_error *err) PGY_MUST_CHECK;
void value_remove_consumer(pgy_value *v, pgy_node *n); /* Removes one use, the last in the list. */
/* For callers that remove all uses of v by n, so that their order does not matter. Removing the
 * uses in list order, or in reverse, takes linear time in total. */
void value_drop_consumer(pgy_value *v, pgy_node *n);
/* Adds `change` to the number of levels that have a value of this name, if the index of names
 * exists. */
void level_count_name(graph_state *s, const char *name, int change);
/* Puts a value into the map of a level under this name; false: out of memory. */
bool level_put_value(pgy_graph *g, const char *name, value_box *box);
/* Moves the map out of a level, which then has an empty one. */
strmap level_take_values(pgy_graph *g);
pgy_value *value_create_unique(pgy_graph *g, const char *stem,
                               pgy_error *err); /* a new value under a free name */
/* Renames a value; the caller makes sure that no other value of its level has the new name. */
pgy_status value_rename(pgy_value *v, const char *name, pgy_error *err) PGY_MUST_CHECK;
/* Creates a node without stored message, appends it to the level and links its inputs and outputs.
 */
pgy_status node_create(pgy_node **out, pgy_graph *g, const char *op_type, pgy_value *const *inputs,
                       size_t input_count, pgy_value *const *outputs, size_t output_count,
                       pgy_error *err) PGY_MUST_CHECK;
pgy_status node_set_input(pgy_node *n, size_t i, pgy_value *v, pgy_error *err) PGY_MUST_CHECK;
/* Makes every consumer of `from` read `to`. Outputs of graphs stay. */
pgy_status value_replace_uses(pgy_value *from, pgy_value *to, pgy_error *err) PGY_MUST_CHECK;
/* Unlinks n, with the nodes of its subgraphs, from all values that they read, and its outputs from
 * n; n stays in the list of its level. */
void node_unlink(pgy_node *n);
/* Adds the names of the level's values to the names that an error message may suggest. */
void graph_suggest(suggestions *out, const pgy_graph *g);
void graph_reindex(pgy_graph *g);
void graph_mark_changed(pgy_graph *g); /* Marks the level and all enclosing levels. */
pgy_status state_keep_tensor(graph_state *s, pgy_tensor *t, pgy_error *err)
    PGY_MUST_CHECK; /* takes over the caller's reference, also on failure */

/* ---- node.c ---------------------------------------------------------------------------------- */
/* Finds the operator's definition and converts the node's attributes; later calls do nothing.
 * PGY_E_FORMAT */
pgy_status node_prepare(pgy_node *n, pgy_error *err) PGY_MUST_CHECK;
/* Sets how to treat a node whose operator its opset lacks, or lacks for its types: refuse it, or
 * take the first newer version that has it and computes the same (NEWER_WARNED: with one warning
 * per operator). All nodes are prepared anew. */
void graph_set_newer(pgy_graph *g, newer_versions newer);
/* Copies the cached look-ups of operators, with the flags that say which warnings were logged. */
pgy_status operators_copy(graph_state *to, const graph_state *from, pgy_error *err) PGY_MUST_CHECK;
/* Should the caller log that n's operator needs a newer opset? True once per operator. */
bool graph_warns_newer(const pgy_node *n);
/* Sets node_box.captured anew from the node's subgraphs. */
pgy_status node_captures(pgy_node *n, pgy_error *err) PGY_MUST_CHECK;
/* Gives the attributes of n with references resolved by `scope`, the attributes of the function
 * call (NULL: n is not in a function). */
pgy_status node_attrs(const op_attr **out, size_t *count, const pgy_node *n,
                      const attr_scope *scope, arena *memory, pgy_error *err) PGY_MUST_CHECK;
/* Converts one attribute; `subgraph` is the level of a graph attribute. */
pgy_status attr_convert(op_attr *out, pgy_graph *g, const pgy_onnx_attribute *a,
                        pgy_graph *subgraph, pgy_error *err) PGY_MUST_CHECK;
/* The tensor of a Constant's `value`, or NULL. */
const pgy_onnx_tensor *node_constant(const pgy_node *n);

/* ---- sort.c ---------------------------------------------------------------------------------- */
/* Gives the nodes of one level in execution order: each after the nodes that it needs. */
pgy_status graph_order(pgy_node ***out, pgy_graph *g, arena *memory, pgy_error *err) PGY_MUST_CHECK;

/* ---- findings.c ------------------------------------------------------------------------------ */
/* Adds a finding about a node (NULL: the whole model), in the graph's memory. */
void finding_add(finding_list *list, graph_state *s, check_code code, const pgy_node *n,
                 const char *format, ...) PGY_PRINTF(5, 6);
/* Adds a finding about a value of a level, or, with name "", about the level itself. */
void finding_add_value(finding_list *list, check_code code, const pgy_graph *g, const char *name,
                       const char *format, ...) PGY_PRINTF(5, 6);
/* Adds a finding about the node or level that `at` names. The names are borrowed, the path is
 * copied. */
typedef struct finding_place {
    const char *node, *op_type, *path; /* as in pgy_finding */
} finding_place;
void finding_add_at(finding_list *list, graph_state *s, check_code code, const finding_place *at,
                    const char *format, ...) PGY_PRINTF(5, 6);
/* Append the path from the main graph: "If_3/then_branch/Add_2" of a node, "If_3/then_branch" of a
 * level, "" of the main graph. */
void node_path(str *out, const pgy_node *n);
void level_path(str *out, const pgy_graph *g);

/* ---- infer.c, merge.c, value.c --------------------------------------------------------------- */
/* block.c: channels per block of com.microsoft.nchwc, 8 or 16, deduced from the shapes in the
 * model. */
int64_t graph_channel_block(graph_state *s);

/* How to treat contradictions between computed and declared shapes. */
typedef struct merge_rules {
    bool strict;            /* a contradiction is an error */
    bool quiet;             /* input shapes were replaced, so declared ones need not fit */
    finding_list *findings; /* receives the contradictions during a check; NULL: they are logged */
} merge_rules;
/* Merges the computed and the declared type and shape of output i of n. `why` says why a part of
 * `computed` is unknown; it may be NULL. */
pgy_status merge_output(pgy_node *n, size_t i, const op_value *computed, const char *why,
                        const merge_rules *rules, pgy_error *err) PGY_MUST_CHECK;
/* Forgets the declared shapes of nodes without subgraphs whose sizes the rules could not compute,
 * because the data may say others. Sizes that come from operators of other domains stay: kernels of
 * attention check at run time that lengths fit the declared caches. Returns whether any went. */
bool graph_forget_claims(pgy_graph *g);
/* Predicts the output types that n would have with these attributes, and with type `to` for its
 * inputs of type `from`. `types` has one entry per output. n must have no subgraphs. Fails if the
 * operator refuses these types. */
typedef struct node_types {
    const op_attr *attrs;
    size_t attr_count;
    pgy_dtype from, to;
} node_types;
pgy_status graph_foresee_types(pgy_dtype *types, pgy_node *n, const node_types *wanted,
                               pgy_error *err) PGY_MUST_CHECK;
/* Infers the whole graph: a node that fails adds a finding, and inference continues with the next
 * node. */
pgy_status graph_infer_all(pgy_graph *g, finding_list *findings, pgy_error *err) PGY_MUST_CHECK;
/* Infers with these types and dims of the inputs, in order. The dims may have symbols of the
 * graph's table, and must live as long as the graph. */
pgy_status graph_infer_sizes(pgy_graph *g, const op_value *inputs, pgy_error *err) PGY_MUST_CHECK;
/* Infers the outputs and subgraphs of one node whose inputs are known; for graphs that are built
 * node by node. */
pgy_status graph_infer_node(pgy_node *n, pgy_error *err) PGY_MUST_CHECK;
/* summarize.c: floating-point operations of a node whose shapes are inferred; < 0: a shape or the
 * operator is unknown. 0 for Constant, and for nodes with subgraphs. */
pgy_status graph_node_flops(double *out, pgy_node *n, pgy_error *err) PGY_MUST_CHECK;
/* Checks that every name of `shapes` (may be NULL) is an input or a pattern that matches one;
 * PGY_E_NOT_FOUND suggests names. */
pgy_status graph_check_inputs(const pgy_graph *g, const pgy_metadata *shapes, bool patterns,
                              pgy_error *err) PGY_MUST_CHECK;
/* True if type, rank and every dimension are known. */
bool value_is_known(const op_value *v);
/* Reads a weight into known.data if it is small enough to take part in inference. */
pgy_status value_read_small(pgy_value *v, const pgy_onnx_tensor *t, pgy_error *err) PGY_MUST_CHECK;
/* Sets the declared type and shape from a type of the file. PGY_E_FORMAT: the element type does not
 * exist. */
pgy_status value_declare(pgy_value *v, const pgy_onnx_type *type, pgy_error *err) PGY_MUST_CHECK;
/* Converts a type of the file, in the memory of `s`; `name` is for messages. */
pgy_status type_declare(op_value *out, pgy_value_kind *kind, graph_state *s,
                        const pgy_onnx_type *type, const char *name, pgy_error *err) PGY_MUST_CHECK;
/* Sets the shape in `out` from `info`, whose rank must be known. */
pgy_status value_set_shape(op_value *out, graph_state *s, const pgy_tensor_info *info,
                           pgy_error *err) PGY_MUST_CHECK;
pgy_status value_describe_tensor(pgy_value *v, const pgy_onnx_tensor *t,
                                 pgy_error *err) PGY_MUST_CHECK;
/* Sets the value's public fields from `known`. */
pgy_status value_publish(pgy_value *v, pgy_error *err) PGY_MUST_CHECK;

#endif
