/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that cut a part out of a model share. */
#ifndef GS_CUT_CUT_H
#define GS_CUT_CUT_H

#include <polygraphy/cut.h>

#include "base/str.h"
#include "graph/graph.h"
#include "graph/side_table.h"

typedef struct value_list {
    pgy_value **items;
    const char **names; /* of the items */
    size_t count, capacity;
} value_list;

struct pgy_cut {
    pgy_model *model;
    pgy_graph *graph; /* of the model, sorted */
    pgy_graph *level; /* whose nodes are cut out */
    bool *inside;     /* of each node of the level */
    size_t inside_count;
    bool *constant; /* of each node: it depends on weights alone */
    value_list inputs, outputs, weights;
    id_marks listed;           /* values, while a border is found */
    const char *only_under;    /* names of nodes that are taken begin so; NULL: any */
    const int64_t *iterations; /* of the loops around the level, outermost first */
    size_t iteration_count;
    arena memory;
};

/* ---- select.c: which nodes ------------------------------------------------------------------- */
/* The graph that the names are of, into c->level. */
pgy_status cut_level(pgy_cut *c, const pgy_cut_selection *s, pgy_error *err) PGY_MUST_CHECK;
/* The nodes, into c->inside. */
pgy_status cut_select(pgy_cut *c, const pgy_cut_selection *s, pgy_error *err) PGY_MUST_CHECK;

/* ---- cut.c ----------------------------------------------------------------------------------- */
/* Calls `take` for all that node n of the level uses, in order, values of enclosing levels
 * included.
 */
typedef pgy_status (*cut_take)(pgy_value *v, void *user, pgy_error *err);
pgy_status cut_each_use(const pgy_node *n, cut_take take, void *user,
                        pgy_error *err) PGY_MUST_CHECK;

#endif
