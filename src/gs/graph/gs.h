/* SPDX-License-Identifier: Apache-2.0 */
/* What stands behind the public structs of graph surgery, for the files of this layer.
 *
 * Public structs are the first members of boxes. All memory of a document is in a model that is
 * being built (document.store): what is exported shares its texts and attributes and keeps it
 * alive, so nothing in the store is ever changed in place once it is part of a message. */
#ifndef GS_GRAPH_GS_H
#define GS_GRAPH_GS_H

#include <polygraphy/gs.h>

#include "base/str.h"

typedef struct gs_registered gs_registered;

/* A tensor or node in the index of its document: all of one name hang together, newest first. */
typedef struct gs_named {
    const char *name;
    uint64_t hash;
    struct gs_named *next;
    void *owner;    /* the public struct */
    bool not_alone; /* there are, or were, others of this name */
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
    pgy_model *store;  /* arena of the document */
    pgy_model *source; /* where it came from; NULL: new */
    pgy_gs_graph *top;
    pgy_gs_graph **graphs; /* all, to be torn down */
    size_t graph_count, graph_capacity;
    pgy_gs_graph **functions; /* what every graph's `functions` shows */
    size_t function_count, function_capacity;
    gs_registered *operations; /* registry.c */
    size_t operation_count, operation_capacity;
    int invoke_depth; /* operations may invoke each other */
    gs_names tensor_names, node_names;
    bool shares_subgraphs; /* one is in two attributes: `changed` does not tell all */
    uint64_t edits;        /* counts every change */
    uint64_t epoch;        /* of walks: a box is marked if its `mark` is this */
    uint64_t walk;         /* the same for `seen`, which walk.c alone uses */
    uint64_t serial;       /* of tensors, nodes and pattern constants */
} gs_document;

typedef struct gs_tensor {
    pgy_gs_tensor tensor;
    gs_document *document;
    gs_named named;
    pgy_gs_graph *home; /* the level it was made for: where a weight is written */
    uint64_t serial;
    size_t producer_capacity, consumer_capacity;
    uint64_t mark;     /* scratch of walks: document.epoch */
    size_t scratch;    /* of one algorithm */
    uint64_t seen;     /* by walk.c: document.walk */
    size_t place;      /* in the list that walk.c makes */
    bool info_changed; /* dtype, shape or name are not those of `info` any more */
    bool written;      /* during an export: an enclosing level has this weight */
} gs_tensor;

typedef struct gs_node {
    pgy_gs_node node;
    gs_document *document;
    gs_named named;
    uint64_t serial;
    size_t input_capacity, output_capacity, attribute_capacity;
    size_t index_hint; /* its place in graph->nodes, if that place holds it */
    uint64_t mark;
    size_t scratch;
    bool changed; /* operator, name, domain or an attribute: the stored message is not it any more.
                     Slots are compared by name on export */
} gs_node;

typedef struct gs_graph {
    pgy_gs_graph graph;
    gs_document *document;
    size_t node_capacity, input_capacity, output_capacity;
    uint64_t name_count; /* of generated names */
    bool changed;        /* of this level alone: lists, names, imports, tensors */
    const pgy_onnx_function *stored_function;
    pgy_gs_tensor **kept; /* weights and value infos of the file that no node used on import */
    size_t kept_count;
    pgy_gs_graph *twin;  /* during a copy: its own */
    bool held;           /* of a subgraph: an attribute has it */
    bool ir_version_set; /* by the caller: it is not raised to what the model needs */
    uint64_t rooted;     /* by publish_imports: the document.walk in which `below` was set */
    bool below;          /* in the root that is published */
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
/* The same for what a caller gives: PGY_E_ARGUMENT if it is not UTF-8, which no reader takes. */
pgy_status gs_keep_text(const char **out, gs_document *d, const char *text,
                        pgy_error *err) PGY_MUST_CHECK;
/* Makes room for one more pointer in a list of the store. */
pgy_status gs_grow(gs_document *d, void *items, size_t count, size_t *capacity,
                   pgy_error *err) PGY_MUST_CHECK; /* items: address of the list's pointer */
/* An empty level; parent NULL for the top and for functions. */
pgy_status gs_graph_create(pgy_gs_graph **out, gs_document *d, pgy_gs_graph *parent,
                           const char *name, pgy_error *err) PGY_MUST_CHECK;
/* Notes an edit of a level (and, as its bytes contain those of its subgraphs, of those around it).
 */
void gs_touch(pgy_gs_graph *g);
/* The same for a tensor that may be used on several levels. */
void gs_touch_tensor(pgy_gs_tensor *t);
/* "node 'add' (Add)" in front of a text. */
pgy_status gs_node_error(const pgy_gs_node *n, pgy_error *err, pgy_status st, const char *format,
                         ...) PGY_PRINTF(4, 5);
/* The name, or "(node with output 'x')", for messages. In a buffer of the store; never NULL. */
const char *gs_node_label(const pgy_gs_node *n);
/* "; did you mean 'a', 'b'?" appended, or nothing. */
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
/* A tensor without anything but its name (kept, must be of the store). */
pgy_status gs_tensor_create(pgy_gs_tensor **out, gs_document *d, const char *name,
                            pgy_error *err) PGY_MUST_CHECK;
/* Becomes what `from` is, but for its name, home, edges and declaration. */
void gs_tensor_take(pgy_gs_tensor *t, const pgy_gs_tensor *from);
/* Becomes a constant of this stored record (of the store or the source). */
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
/* Calls visit for every tensor that node n depends on: its inputs, then, if it has subgraphs, what
 * these take from outside. Omitted ones are left out. */
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
/* Two lists of tensors: as many, with the same names in the same order. */
bool gs_same_names(pgy_gs_tensor *const *a, size_t a_count, pgy_gs_tensor *const *b,
                   size_t b_count);

/* ---- toposort.c ------------------------------------------------------------------------------ */
/* A running order of g's list without changing it; the array is the caller's (mem_free). Cycles are
 * PGY_E_FORMAT, named. */
pgy_status gs_order(pgy_gs_node ***out, const pgy_gs_graph *g, bool stable,
                    pgy_error *err) PGY_MUST_CHECK;

#endif
