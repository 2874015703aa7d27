/* SPDX-License-Identifier: Apache-2.0 */
/* Paths through subgraphs and calls of local functions (path.c), for calls.c. */
#ifndef GS_CUT_PATH_H
#define GS_CUT_PATH_H

#include <polygraphy/cut.h>

#include "base/arena.h"
#include "base/str.h"
#include "gs/graph/function_index.h"

enum { SHOWN_CALLS = 6, MAX_DEPTH = 256 };

/* What a path names. */
typedef enum kind { NODE, TENSOR, LEVEL, MODULE } kind;

/* State while a selection's names are resolved and the calls on the way are inlined. */
typedef struct entry {
    pgy_gs_graph *top, *level; /* level: the graph in which names are looked up */
    gs_function_index functions;
    arena *memory;
    const char *inside; /* prefix "<call>/" of the names of all selected nodes; NULL: any name */
    strmap outer; /* "<call>/<input or output>" -> name of the tensor that the call passes for it */
    str path;     /* path of the current node or graph */
    size_t steps; /* number of nodes that the search may still visit, because recursive functions
                     never end */
    size_t depth;
    bool changed;
} entry;

/* Calls of functions whose body has a node, tensor or module with the name. */
typedef struct found_calls {
    kind what;
    const char *name;
    const char *paths[SHOWN_CALLS]; /* paths of the first calls; count includes all */
    size_t count;
} found_calls;

/* What a path led to. */
typedef struct place {
    bool found, is_call; /* is_call: the path named a call; its function's body is inlined now */
    const char *rest;    /* rest of the path, from `level` on */
    const char *tensor;  /* name of the tensor in `level` */
    pgy_gs_graph *level;
} place;

/* The function that a node calls; NULL: none. */
const pgy_gs_graph *entry_callee(const entry *e, const pgy_gs_node *n);
/* Counts a visited node. False: the limit of visited nodes (steps) is reached. */
bool entry_step(entry *e);
/* Appends a name to the path. @return the path's size before, for entry_pop */
size_t entry_push(entry *e, const char *name);
void entry_pop(entry *e, size_t size);
/* "<path>/<name>"; NULL: out of memory. */
const char *entry_join(entry *e, const char *path, const char *name);
/* True if g itself (not a subgraph) has a node, tensor or module with the name. */
bool entry_holds(entry *e, const pgy_gs_graph *g, kind what, const char *name);
/* True if the path leads from g to a node, tensor, graph or module. */
bool entry_leads(entry *e, const pgy_gs_graph *g, kind what, const char *path);
/* Adds the calls of functions with the wanted item, in g, its subgraphs and the bodies of called
 * functions.
 */
void entry_find_calls(entry *e, found_calls *out, const pgy_gs_graph *g);
/* Inlines a call, and records in e->outer which tensors the call passes for the function's inputs
 * and outputs. */
pgy_status entry_inline(entry *e, pgy_gs_node *n, pgy_error *err) PGY_MUST_CHECK;
/* Follows a path to a node, tensor, graph or module, and inlines the calls on the way. */
pgy_status entry_go(place *out, entry *e, pgy_gs_graph *g, kind what, const char *path,
                    pgy_error *err) PGY_MUST_CHECK;

#endif
