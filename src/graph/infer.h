/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of shape inference share: infer.c infers nodes in execution order,
 * infer_fold.c runs nodes on constants, infer_graph.c infers subgraphs, function bodies and whole
 * graphs. */
#ifndef GRAPH_INFER_H
#define GRAPH_INFER_H

#include "graph/graph.h"
#include "graph/side_table.h"

typedef struct infer_run {
    graph_state *state;
    const attr_scope *scope;
    merge_rules rules; /* if `findings` is NULL, the first failure ends inference */
    const call_chain *calls;
    int depth;       /* number of nested function calls */
    uint64_t steps;  /* nodes visited so far; limited, because nested calls can multiply them */
    id_marks absent; /* by value id: inputs of a function body that the current call omits */
    op_host host;
} infer_run;

/* ---- infer.c ---- */
pgy_status infer_node(infer_run *run, pgy_node *n, pgy_error *err) PGY_MUST_CHECK;
/* Infers all nodes of one level in execution order. */
pgy_status infer_level(infer_run *run, pgy_graph *g, pgy_error *err) PGY_MUST_CHECK;

/* ---- infer_fold.c ---- */
/* Runs a node whose inputs are all small constants, and makes constants of its outputs. */
pgy_status infer_fold(graph_state *s, op_infer *c, pgy_error *err) PGY_MUST_CHECK;
/* Makes a constant of a value all of whose elements are known numbers. */
pgy_status infer_elements(graph_state *s, op_value *v, pgy_error *err) PGY_MUST_CHECK;

#endif
