/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a planned graph on values. */
#ifndef EVALUATE_EXECUTE_H
#define EVALUATE_EXECUTE_H

#include "evaluate/plan.h"

/* Computes nodes instead of op_run; `run` may call op_run for nodes that it does not handle.
 * Values, including inputs and weights, may then be tensors of their declared type instead of the
 * storage type (ops/op.h). Inputs of nodes with subgraphs, and elements of sequences, must still be
 * in storage type. */
typedef struct execute_operators {
    pgy_status (*run)(pgy_node *n, const op_node *node, const op_tensor *inputs, op_tensor *outputs,
                      const bool *wanted, const op_host *host, void *user, pgy_error *err);
    void *user;
    bool storage; /* values stay in storage type, as without operators */
} execute_operators;

/* The frame of a level (main graph, subgraph or function body) that runs, linked to the frames of
 * the enclosing levels. */
typedef struct frame execute_level;
/* Reads the current content of a value of `level` or of an enclosing level; *out is borrowed, and
 * empty if the value is not computed yet or was released. */
pgy_status execute_value(op_tensor *out, execute_level *level, pgy_value *v,
                         pgy_error *err) PGY_MUST_CHECK;

/* Receives the values of every node that ran, including nodes of subgraphs and functions. All
 * values are borrowed. */
typedef struct execute_watch {
    pgy_status (*ran)(pgy_node *n, const op_tensor *inputs, const op_tensor *outputs, void *user,
                      pgy_error *err); /* may be NULL */
    void *user;
    /* Called each time before the nodes of a level run, so once per loop iteration; may be NULL. */
    pgy_status (*begins)(const pgy_graph *g, execute_level *level, void *user, pgy_error *err);
    /* Called before each node runs, and so before the nodes of its subgraphs; may be NULL. */
    pgy_status (*starts)(pgy_node *n, void *user, pgy_error *err);
} execute_watch;

/* A run that exceeds a limit ends with an error. */
typedef struct execute_limits {
    uint64_t max_bytes; /* limit for the size of one tensor */
    uint64_t max_steps; /* limit for the steps: each run of a node or of a subgraph or function
                           body; 0: no limit */
    uint64_t *spent; /* receives the steps taken, added; a large result counts as many steps; may be
                        NULL */
    const execute_operators *operators; /* NULL: nodes are computed by op_run */
    const execute_watch *watch;         /* may be NULL */
} execute_limits;

/* Runs the top graph, which must be planned. The tensors in `feed` have the declared types of the
 * inputs; outputs are added to `out` in their declared types. */
pgy_status execute_graph(const graph_plan *plan, pgy_graph *g, const pgy_tensor_map *feed,
                         pgy_tensor_map *out, bool model_precision, const execute_limits *limits,
                         pgy_error *err) PGY_MUST_CHECK;

/* Runs one node with its subgraphs and functions. `inputs` has one entry per input, `captured` one
 * per value of enclosing levels that the subgraphs use (node_box.captured); both are borrowed, in
 * storage type. `outputs` has one entry per output, which the caller releases. */
pgy_status execute_node(pgy_node *n, const op_tensor *inputs, const op_tensor *captured,
                        op_tensor *outputs, bool model_precision, const execute_limits *limits,
                        pgy_error *err) PGY_MUST_CHECK;

#endif
