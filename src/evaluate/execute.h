/* SPDX-License-Identifier: Apache-2.0 */
/* Running a planned graph on values. */
#ifndef EVALUATE_EXECUTE_H
#define EVALUATE_EXECUTE_H

#include "evaluate/plan.h"

/* Another way to run operators than op_run, which it may fall back to. With one, values may be held
 * in their declared type instead of the storage type, inputs and weights among them; what goes into
 * a node with subgraphs and into sequences must be in storage type. */
typedef struct execute_operators {
    pgy_status (*run)(pgy_node *n, const op_node *node, const op_tensor *inputs, op_tensor *outputs,
                      const bool *wanted, const op_host *host, void *user, pgy_error *err);
    void *user;
} execute_operators;

/* A level that runs, and those around it. */
typedef struct frame execute_level;
/* What a value of these holds now; borrowed, and empty if it holds nothing (any more). */
pgy_status execute_value(op_tensor *out, execute_level *level, pgy_value *v,
                         pgy_error *err) PGY_MUST_CHECK;

/* Sees the values of every node that ran, those in subgraphs and functions included; all of them
 * are borrowed. */
typedef struct execute_watch {
    pgy_status (*ran)(pgy_node *n, const op_tensor *inputs, const op_tensor *outputs, void *user,
                      pgy_error *err); /* NULL: nobody asks */
    void *user;
    /* NULL, or sees every level, each time before its nodes run. */
    pgy_status (*begins)(const pgy_graph *g, execute_level *level, void *user, pgy_error *err);
} execute_watch;

/* A run that goes beyond these ends with an error. */
typedef struct execute_limits {
    uint64_t max_bytes; /* of one tensor */
    uint64_t max_steps; /* nodes and bodies that run, each time anew; 0 = no limit */
    uint64_t *spent;    /* NULL, or where steps are added up; in loops a large result is many */
    const execute_operators *operators; /* NULL: the definitions themselves */
    const execute_watch *watch;         /* NULL: nobody looks */
} execute_limits;

/* Runs the top graph, which was planned. The feed has declared types; outputs are added to `out` in
 * theirs. */
pgy_status execute_graph(const graph_plan *plan, pgy_graph *g, const pgy_tensor_map *feed,
                         pgy_tensor_map *out, bool model_precision, const execute_limits *limits,
                         pgy_error *err) PGY_MUST_CHECK;

/* One node on values: `inputs` beside its inputs, `captured` beside the values of enclosing levels
 * that its subgraphs use (node_box.captured), both in storage type and borrowed. Subgraphs and
 * functions run too. `outputs` beside its outputs become the caller's. */
pgy_status execute_node(pgy_node *n, const op_tensor *inputs, const op_tensor *captured,
                        op_tensor *outputs, bool model_precision, const execute_limits *limits,
                        pgy_error *err) PGY_MUST_CHECK;

#endif
