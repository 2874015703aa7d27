/* SPDX-License-Identifier: Apache-2.0 */
/* The private side of graph surgery's public structs.
 *
 * Public structs are the first members of boxes. All memory of a document is in a model that is
 * being built (document.store). Exported models share its texts and attributes and keep it alive,
 * so nothing in the store is changed in place once it is part of a message. */
#ifndef GS_GRAPH_GS_H
#define GS_GRAPH_GS_H

#include <polygraphy/gs.h>

#include "base/str.h"

typedef struct gs_registered gs_registered;

/* A tensor or node in the index of its document: items of one name form a chain, newest first. */
typedef struct gs_named {
    const char *name;
    uint64_t hash;
    struct gs_named *next;
    void *owner;    /* the public struct */
    bool not_alone; /* other items have, or had, this name */
} gs_named;
typedef struct gs_slot {
    uint64_t hash;
    gs_named *first; /* of its name */
} gs_slot;
typedef struct gs_names {
    gs_slot *slots;
    size_t slot_count, used;
} gs_names;

typedef struct gs_document {
    pgy_model *store;  /* the arena of the document */
    pgy_model *source; /* the imported model; NULL: the document is new */
    pgy_gs_graph *top;
    pgy_gs_graph **graphs; /* all levels, for the destructor */
    size_t graph_count, graph_capacity;
    pgy_gs_graph **functions; /* every graph's `functions` is a copy of this */
    size_t function_count, function_capacity;
    gs_registered *operations; /* registry.c */
    size_t operation_count, operation_capacity;
    int invoke_depth; /* how deep operations invoke each other */
    gs_names tensor_names, node_names;
    bool shares_subgraphs; /* a subgraph may be in two attributes, so `changed` of its parents is
                              not enough */
    uint64_t edits;        /* counts every change */
    uint64_t epoch;        /* of walks: a box is marked if its `mark` equals this */
    uint64_t walk;         /* the same for `seen`, which walk.c alone uses */
    uint64_t serial;       /* of the next tensor, node or pattern constant */
} gs_document;

typedef struct gs_tensor {
    pgy_gs_tensor tensor;
    gs_document *document;
    gs_named named;
    pgy_gs_graph *home; /* the level it was made for: where a weight is written */
    uint64_t serial;
    size_t producer_capacity, consumer_capacity;
    uint64_t mark;     /* document.epoch of the last walk that marked it */
    size_t scratch;    /* for whatever algorithm runs */
    uint64_t seen;     /* document.walk of the last walk in walk.c */
    size_t place;      /* in the list that walk.c makes */
    bool info_changed; /* dtype, shape or name differ from `info` */
    bool written;      /* during an export: an enclosing level wrote this weight */
} gs_tensor;

typedef struct gs_node {
    pgy_gs_node node;
    gs_document *document;
    gs_named named;
    uint64_t serial;
    size_t input_capacity, output_capacity, attribute_capacity;
    size_t index_hint; /* place in graph->nodes; check before use */
    uint64_t mark;
    size_t scratch;
    bool changed; /* operator, name, domain or an attribute differ from the stored message; slots
                     are compared by name on export */
} gs_node;

typedef struct gs_graph {
    pgy_gs_graph graph;
    gs_document *document;
    size_t node_capacity, input_capacity, output_capacity;
    uint64_t name_count; /* number of the next generated name */
    bool changed;        /* of this level alone: lists, names, imports, tensors */
    const pgy_onnx_function *stored_function;
    pgy_gs_tensor **kept; /* weights and value infos of the file that no node used on import */
    size_t kept_count;
    pgy_gs_graph *twin;  /* during a copy: the new level */
    bool held;           /* a subgraph that an attribute holds */
    bool ir_version_set; /* the caller chose the IR version, so an export does not raise it */
    uint64_t rooted;     /* by publish_imports: the document.walk that set `below` */
    bool below;          /* the level is inside the published root */
} gs_graph;

static inline gs_tensor *tensor_box(const pgy_gs_tensor *t)
{
    return t->internal;
}
/* `gs_`, as graph/graph.h has a type node_box. */
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
/* The same for a caller's text. PGY_E_ARGUMENT if it is not UTF-8, because no reader would accept
 * the model. */
pgy_status gs_keep_text(const char **out, gs_document *d, const char *text,
                        pgy_error *err) PGY_MUST_CHECK;
/* Makes room for one more pointer in a list of the store. */
pgy_status gs_grow(gs_document *d, void *items, size_t count, size_t *capacity,
                   pgy_error *err) PGY_MUST_CHECK; /* items: address of the list's pointer */
/* An empty level; parent NULL for the top and for functions. */
pgy_status gs_graph_create(pgy_gs_graph **out, gs_document *d, pgy_gs_graph *parent,
                           const char *name, pgy_error *err) PGY_MUST_CHECK;
/* Marks a level as edited, and those around it, because their bytes contain its own. */
void gs_touch(pgy_gs_graph *g);
/* The same for all levels that use a tensor. */
void gs_touch_tensor(pgy_gs_tensor *t);
/* Sets an error that begins with "node 'add' (Add)". */
pgy_status gs_node_error(const pgy_gs_node *n, pgy_error *err, pgy_status st, const char *format,
                         ...) PGY_PRINTF(4, 5);
/* The name, or "(node with output 'x')", for messages. In a buffer of the store; never NULL. */
const char *gs_node_label(const pgy_gs_node *n);
/* Appends "; did you mean 'a', 'b'?", or nothing. */
void gs_suggest(str *out, const char *name, const char *const *names, size_t count);

/* ---- edge.c ---------------------------------------------------------------------------------- */
/* The four calls that all edges go through. They keep order: attaching appends to the use list,
 * detaching removes the first entry of that node there. */
pgy_status gs_attach_input(pgy_gs_node *n, size_t i, pgy_gs_tensor *t,
                           pgy_error *err) PGY_MUST_CHECK; /* inserted before slot i */
void gs_detach_input(pgy_gs_node *n, size_t i);
pgy_status gs_attach_output(pgy_gs_node *n, size_t i, pgy_gs_tensor *t,
                            pgy_error *err) PGY_MUST_CHECK;
void gs_detach_output(pgy_gs_node *n, size_t i);
void gs_detach_all(pgy_gs_node *n); /* inputs and outputs */

/* ---- tensor.c -------------------------------------------------------------------------------- */
/* A tensor with a name only. The name is kept as it is, so it must be in the store. */
pgy_status gs_tensor_create(pgy_gs_tensor **out, gs_document *d, const char *name,
                            pgy_error *err) PGY_MUST_CHECK;
/* Copies all of `from` except its name, home, edges and declaration. */
void gs_tensor_take(pgy_gs_tensor *t, const pgy_gs_tensor *from);
/* Makes t a constant with this record, which is in the store or the source. */
pgy_status gs_set_stored(pgy_gs_tensor *t, const pgy_onnx_tensor *stored,
                         pgy_error *err) PGY_MUST_CHECK;

/* ---- list.c ---------------------------------------------------------------------------------- */
/* Lists that a walk gathers; valid when zeroed, `items` are the caller's (mem_free). */
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
/* A gs_visit_graph, so that gs_each_subgraph can fill a gs_level_list. */
pgy_status gs_level_list_push(pgy_gs_graph *g, void *list, pgy_error *err) PGY_MUST_CHECK;

/* ---- walk.c ---------------------------------------------------------------------------------- */
/* Calls visit for every tensor that node n depends on: its inputs, then the outer tensors that its
 * subgraphs read. Skips omitted slots. */
typedef pgy_status (*gs_visit_tensor)(pgy_gs_tensor *t, void *user, pgy_error *err);
pgy_status gs_each_dependency(const pgy_gs_node *n, gs_visit_tensor visit, void *user,
                              pgy_error *err) PGY_MUST_CHECK;
/* Calls visit for the graphs in n's attributes. */
typedef pgy_status (*gs_visit_graph)(pgy_gs_graph *g, void *user, pgy_error *err);
pgy_status gs_each_subgraph(const pgy_gs_node *n, gs_visit_graph visit, void *user,
                            pgy_error *err) PGY_MUST_CHECK;
bool gs_has_subgraphs(const pgy_gs_node *n);
bool gs_is_graph_output(const pgy_gs_graph *g, const pgy_gs_tensor *t); /* by identity; linear */

/* ---- equal.c --------------------------------------------------------------------------------- */
/* True if both lists have the same names in the same order. */
bool gs_same_names(pgy_gs_tensor *const *a, size_t a_count, pgy_gs_tensor *const *b,
                   size_t b_count);

/* ---- toposort.c ------------------------------------------------------------------------------ */
/* A running order of g's nodes; the list itself stays as it is. The caller frees the array
 * (mem_free). A cycle is PGY_E_FORMAT and is named. */
pgy_status gs_order(pgy_gs_node ***out, const pgy_gs_graph *g, bool stable,
                    pgy_error *err) PGY_MUST_CHECK;

#endif
