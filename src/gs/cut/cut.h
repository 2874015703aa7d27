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
    const char **names; /* names[i]: the name of items[i] */
    size_t count, capacity;
} value_list;

struct pgy_cut {
    pgy_model *model;
    pgy_graph *graph; /* graph of the model, topologically sorted */
    pgy_graph *level; /* the graph or subgraph from which the part is cut */
    bool *inside;     /* indexed by node of `level`: the node belongs to the part */
    size_t inside_count;
    bool *constant; /* indexed by node of `level`: the node depends on weights only */
    value_list inputs, outputs, weights;
    id_marks listed; /* values already in inputs, outputs or weights, while those are collected */
    const char *only_under;    /* prefix of the names of all selected nodes; NULL: any name */
    const int64_t *iterations; /* wanted iteration of each loop around `level`, outermost first */
    size_t iteration_count;
    arena memory;
};

/* ---- select.c: selects nodes ----------------------------------------------------------------- */
/* Calls `take` for each value that node n reads, in order, including captured values. */
typedef pgy_status (*cut_take)(pgy_value *v, void *user, pgy_error *err);
pgy_status cut_each_use(const pgy_node *n, cut_take take, void *user,
                        pgy_error *err) PGY_MUST_CHECK;
/* Sets c->level to the graph that has the selected nodes and tensors. */
pgy_status cut_level(pgy_cut *c, const pgy_cut_selection *s, pgy_error *err) PGY_MUST_CHECK;
/* Sets c->inside for the selected nodes. */
pgy_status cut_select(pgy_cut *c, const pgy_cut_selection *s, pgy_error *err) PGY_MUST_CHECK;

#endif
