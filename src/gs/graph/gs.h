/* SPDX-License-Identifier: Apache-2.0 */
/* The private structs behind the public graph, node and tensor of graph surgery.
 *
 * Each public struct is the first member of a private one (gs_graph, gs_node, gs_tensor), its
 * "box". A document allocates everything in document.store, a model under construction. Exported
 * models share its texts and attributes and keep it alive, so what an ONNX message refers to is
 * never changed in place. */
#ifndef GS_GRAPH_GS_H
#define GS_GRAPH_GS_H

#include <polygraphy/gs.h>

#include "base/str.h"

typedef struct gs_registered gs_registered;

/* The entry of a tensor or node in its document's index of names. Entries of the same name are
 * linked, newest first. */
typedef struct gs_named {
    const char *name;
    uint64_t hash;
    struct gs_named *next;
    void *owner;    /* the pgy_gs_tensor or pgy_gs_node */
    bool not_alone; /* another entry has, or had, this name */
} gs_named;
typedef struct gs_slot {
    uint64_t hash;
    gs_named *first; /* newest entry of the name */
} gs_slot;
typedef struct gs_names {
    gs_slot *slots;
    size_t slot_count, used;
} gs_names;

typedef struct gs_document {
    pgy_model *store;  /* owns all memory of the document */
    pgy_model *source; /* the imported model; NULL: the graph was created, not imported */
    pgy_gs_graph *top;
    pgy_gs_graph **graphs; /* the main graph, all subgraphs and function bodies */
    size_t graph_count, graph_capacity;
    pgy_gs_graph **functions; /* every graph's list of functions is a copy of this */
    size_t function_count, function_capacity;
    gs_registered *operations; /* operations that the caller registered (registry.c) */
    size_t operation_count, operation_capacity;
    int invoke_depth; /* current nesting of registered operations that invoke others */
    gs_names tensor_names, node_names;
    bool shares_subgraphs; /* two attributes may hold the same subgraph; an edit of it marks only
                              one parent as changed */
    uint64_t edits;  /* number of edits so far; 0: an export keeps the imported model's bytes */
    uint64_t epoch;  /* number of the current traversal, for `mark` of tensors and nodes */
    uint64_t walk;   /* number of the current traversal by walk.c, for `seen` of tensors */
    uint64_t serial; /* serial number of the next tensor, node or pattern constant */
} gs_document;

typedef struct gs_tensor {
    pgy_gs_tensor tensor;
    gs_document *document;
    gs_named named;
    pgy_gs_graph *home; /* the graph or subgraph it was made for; an export writes a weight there */
    uint64_t serial;
    size_t producer_capacity, consumer_capacity;
    uint64_t mark;     /* document.epoch of the last traversal that visited the tensor */
    size_t scratch;    /* belongs to the pass that is running */
    uint64_t seen;     /* document.walk of the last traversal by walk.c that visited the tensor */
    size_t place;      /* index in the tensor list that walk.c makes */
    bool info_changed; /* may differ from the file's declaration
                        */
    bool written;      /* during an export: the weight is written, so inner graphs omit it */
} gs_tensor;

typedef struct gs_node {
    pgy_gs_node node;
    gs_document *document;
    gs_named named;
    uint64_t serial;
    size_t input_capacity, output_capacity, attribute_capacity;
    size_t index_hint; /* likely index in graph->nodes; check before use */
    uint64_t mark;
    size_t scratch;
    bool changed; /* operator, name, domain or an attribute may differ from the imported NodeProto;
                     inputs and outputs are not covered, an export compares their names */
} gs_node;

typedef struct gs_graph {
    pgy_gs_graph graph;
    gs_document *document;
    size_t node_capacity, input_capacity, output_capacity;
    uint64_t name_count; /* numeric suffix of the next generated name */
    bool changed;        /* this graph or one nested in it may differ from the file */
    const pgy_onnx_function *stored_function;
    pgy_gs_tensor **kept; /* weights and value infos of the file that no node used at the import;
                             exported again */
    size_t kept_count;
    pgy_gs_graph *twin;  /* during a copy of the document: the copy of this graph */
    bool held;           /* an attribute holds this graph as its subgraph */
    bool ir_version_set; /* the caller chose the IR version, so an export does not raise it */
    uint64_t rooted;     /* document.walk of the pgy_gs_set_import call that computed `below` */
    bool below; /* the graph is, or is nested in, the root whose imports that call changed */
} gs_graph;

static inline gs_tensor *tensor_box(const pgy_gs_tensor *t)
{
    return t->internal;
}
/* Named gs_node_box, because graph/graph.h has a type node_box. */
static inline gs_node *gs_node_box(const pgy_gs_node *n)
{
    return n->internal;
}
static inline gs_graph *graph_box(const pgy_gs_graph *g)
{
    return g->internal;
}

/* ---- document.c ------------------------------------------------------------------------------ */
pgy_status gs_no_memory(pgy_error *err);
void *gs_alloc(gs_document *d, size_t count, size_t item_bytes); /* zeroed; NULL: out of memory */
const char *gs_strdup(gs_document *d, const char *text);
/* Copies a caller's text. PGY_E_ARGUMENT if it is not UTF-8, because ONNX readers would refuse the
 * model. */
pgy_status gs_keep_text(const char **out, gs_document *d, const char *text,
                        pgy_error *err) PGY_MUST_CHECK;
/* Makes room for one more pointer in a list that the document owns. */
pgy_status gs_grow(gs_document *d, void *items, size_t count, size_t *capacity,
                   pgy_error *err) PGY_MUST_CHECK; /* items: address of the pointer to the list */
/* Creates an empty graph; parent: NULL for the main graph and for function bodies. */
pgy_status gs_graph_create(pgy_gs_graph **out, gs_document *d, pgy_gs_graph *parent,
                           const char *name, pgy_error *err) PGY_MUST_CHECK;
/* Marks a graph as edited, and all graphs around it, because their messages contain its message. */
void gs_touch(pgy_gs_graph *g);
/* Marks all graphs that use a tensor as edited. */
void gs_touch_tensor(pgy_gs_tensor *t);
/* Sets an error that begins with "node 'add' (Add)". */
pgy_status gs_node_error(const pgy_gs_node *n, pgy_error *err, pgy_status st, const char *format,
                         ...) PGY_PRINTF(4, 5);
/* The node's name, or "(node with output 'x')" if it is unnamed, for messages. Owned by the
 * document; never NULL. */
const char *gs_node_label(const pgy_gs_node *n);
/* Appends "; did you mean 'a', 'b'?", or nothing. */
void gs_suggest(str *out, const char *name, const char *const *names, size_t count);

/* ---- edge.c ---------------------------------------------------------------------------------- */
/* Attach and detach edges. Attaching appends the node to the tensor's
 * consumers (or producers); detaching removes the node's first entry there. */
pgy_status gs_attach_input(pgy_gs_node *n, size_t i, pgy_gs_tensor *t,
                           pgy_error *err) PGY_MUST_CHECK; /* inserts t before input i */
void gs_detach_input(pgy_gs_node *n, size_t i);
pgy_status gs_attach_output(pgy_gs_node *n, size_t i, pgy_gs_tensor *t,
                            pgy_error *err) PGY_MUST_CHECK;
void gs_detach_output(pgy_gs_node *n, size_t i);
void gs_detach_all(pgy_gs_node *n); /* detaches all inputs and outputs */

/* ---- tensor.c -------------------------------------------------------------------------------- */
/* Creates a tensor with only a name. The name is not copied, so the document must own it. */
pgy_status gs_tensor_create(pgy_gs_tensor **out, gs_document *d, const char *name,
                            pgy_error *err) PGY_MUST_CHECK;
/* Copies type, shape, kind and values of `from` to t, but not its name, home, edges and
 * declaration. */
void gs_tensor_take(pgy_gs_tensor *t, const pgy_gs_tensor *from);
/* Makes t a constant with this TensorProto, which the document or the imported model owns. */
pgy_status gs_set_stored(pgy_gs_tensor *t, const pgy_onnx_tensor *stored,
                         pgy_error *err) PGY_MUST_CHECK;

/* ---- list.c ---------------------------------------------------------------------------------- */
/* Growing lists. A zeroed struct is an empty list; the caller frees `items` with mem_free. */
typedef struct gs_node_list {
    pgy_gs_node **items;
    size_t count, capacity;
} gs_node_list;
typedef struct gs_level_list {
    pgy_gs_graph **items;
    size_t count, capacity;
} gs_level_list;
pgy_status gs_list_push(pgy_gs_tensor_list *list, pgy_gs_tensor *t, pgy_error *err) PGY_MUST_CHECK;
pgy_status gs_node_list_push(gs_node_list *list, pgy_gs_node *n, pgy_error *err) PGY_MUST_CHECK;
/* Has the type gs_visit_graph, so that gs_each_subgraph can fill a gs_level_list. */
pgy_status gs_level_list_push(pgy_gs_graph *g, void *list, pgy_error *err) PGY_MUST_CHECK;

/* ---- walk.c ---------------------------------------------------------------------------------- */
/* Calls visit for every tensor that node n depends on: its inputs, then the outer tensors that its
 * subgraphs read. Skips omitted slots. */
typedef pgy_status (*gs_visit_tensor)(pgy_gs_tensor *t, void *user, pgy_error *err);
pgy_status gs_each_dependency(const pgy_gs_node *n, gs_visit_tensor visit, void *user,
                              pgy_error *err) PGY_MUST_CHECK;
/* Calls visit for each graph in n's attributes, but not for graphs nested in those. */
typedef pgy_status (*gs_visit_graph)(pgy_gs_graph *g, void *user, pgy_error *err);
pgy_status gs_each_subgraph(const pgy_gs_node *n, gs_visit_graph visit, void *user,
                            pgy_error *err) PGY_MUST_CHECK;
bool gs_has_subgraphs(const pgy_gs_node *n);
/* Like pgy_gs_tensors; `quiet` suppresses the warning about tensors that share a name. */
pgy_status gs_list_tensors(pgy_gs_tensor_list *out, const pgy_gs_graph *g, bool strict, bool quiet,
                           pgy_error *err) PGY_MUST_CHECK;
bool gs_is_graph_output(const pgy_gs_graph *g,
                        const pgy_gs_tensor *t); /* compares pointers; linear time */

/* ---- equal.c --------------------------------------------------------------------------------- */
/* True if both lists have the same names in the same order. */
bool gs_same_names(pgy_gs_tensor *const *a, size_t a_count, pgy_gs_tensor *const *b,
                   size_t b_count);

/* ---- toposort.c ------------------------------------------------------------------------------ */
/* Makes a topologically sorted copy of g's node list; the caller frees it with mem_free.
 * PGY_E_FORMAT if the nodes form a cycle; the error names it. */
pgy_status gs_order(pgy_gs_node ***out, const pgy_gs_graph *g, bool stable,
                    pgy_error *err) PGY_MUST_CHECK;

#endif
