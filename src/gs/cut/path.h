/* SPDX-License-Identifier: Apache-2.0 */
/* Paths through subgraphs and calls of local functions (path.c), for calls.c. */
#ifndef GS_CUT_PATH_H
#define GS_CUT_PATH_H

#include <polygraphy/cut.h>

#include "base/arena.h"
#include "base/str.h"
#include "gs/graph/function_index.h"

enum { SHOWN_CALLS = 6, MAX_DEPTH = 256 };

/* What a path leads to. */
typedef enum kind { NODE, TENSOR, LEVEL, MODULE } kind;

/* The state of entering calls for one selection. */
typedef struct entry {
    pgy_gs_graph *top, *level; /* level: where names are looked up */
    gs_function_index functions;
    arena *memory;
    const char *inside; /* the selected nodes' names begin with this: "<call>/"; NULL: any */
    strmap outer;       /* "<call>/<input or output>" -> name of that tensor around the call */
    str path;           /* of the current node or level */
    size_t steps;       /* nodes that the search may still visit; recursive functions have no end */
    size_t depth;
    bool changed;
} entry;

/* Calls whose function's body has an item. */
typedef struct found_calls {
    kind what;
    const char *name;
    const char *paths[SHOWN_CALLS]; /* the first ones */
    size_t count;
} found_calls;

/* The end of a path. */
typedef struct place {
    bool found, is_call; /* is_call: the path named a function's body, which is inlined now */
    const char *rest;    /* the path in `level` */
    const char *tensor;  /* its name */
    pgy_gs_graph *level;
} place;

/* The function that a node calls; NULL: none. */
const pgy_gs_graph *entry_callee(const entry *e, const pgy_gs_node *n);
/* Counts a visited node. False: the budget is used up. */
bool entry_step(entry *e);
/* Appends a name to the path. @return the path's size before, for entry_pop */
size_t entry_push(entry *e, const char *name);
void entry_pop(entry *e, size_t size);
/* "<path>/<name>"; NULL: out of memory. */
const char *entry_join(entry *e, const char *path, const char *name);
/* True if the level itself has the item. */
bool entry_holds(entry *e, const pgy_gs_graph *g, kind what, const char *name);
/* True if the path leads from this level to such an item. */
bool entry_leads(entry *e, const pgy_gs_graph *g, kind what, const char *path);
/* Adds the calls inside g, nested ones included. */
void entry_find_calls(entry *e, found_calls *out, const pgy_gs_graph *g);
/* Inlines a call, and notes which tensors around the call its function's inputs and outputs are. */
pgy_status entry_inline(entry *e, pgy_gs_node *n, pgy_error *err) PGY_MUST_CHECK;
/* Follows a path that leads to an item, and inlines the calls on the way. */
pgy_status entry_go(place *out, entry *e, pgy_gs_graph *g, kind what, const char *path,
                    pgy_error *err) PGY_MUST_CHECK;

#endif
