/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that cut a part out of a model. */
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
    pgy_graph *level; /* the level with the part */
    bool *inside;     /* for each node of the level: it belongs to the part */
    size_t inside_count;
    bool *constant; /* for each node: it depends on weights only */
    value_list inputs, outputs, weights;
    id_marks listed;           /* values, while a border is found */
    const char *only_under;    /* names of selected nodes begin with this; NULL: any */
    const int64_t *iterations; /* one per loop around the level, outermost first */
    size_t iteration_count;
    arena memory;
};

/* ---- select.c: which nodes ------------------------------------------------------------------- */
/* Sets c->level to the graph that the selection's names refer to. */
pgy_status cut_level(pgy_cut *c, const pgy_cut_selection *s, pgy_error *err) PGY_MUST_CHECK;
/* Sets c->inside for the selected nodes. */
pgy_status cut_select(pgy_cut *c, const pgy_cut_selection *s, pgy_error *err) PGY_MUST_CHECK;

/* ---- cut.c ----------------------------------------------------------------------------------- */
/* Calls `take` for each value that node n of the level uses, in order, including those of enclosing
 * levels. */
typedef pgy_status (*cut_take)(pgy_value *v, void *user, pgy_error *err);
pgy_status cut_each_use(const pgy_node *n, cut_take take, void *user,
                        pgy_error *err) PGY_MUST_CHECK;

#endif
