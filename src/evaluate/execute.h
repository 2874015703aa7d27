/* SPDX-License-Identifier: Apache-2.0 */
/* Running a planned graph on values. */
#ifndef EVALUATE_EXECUTE_H
#define EVALUATE_EXECUTE_H

#include "evaluate/plan.h"

/* A run that goes beyond these ends with an error. */
typedef struct execute_limits {
    uint64_t max_bytes; /* of one tensor */
    uint64_t max_steps; /* nodes and bodies that run, each time anew; 0 = no limit */
} execute_limits;

/* Runs the top graph. The feed has declared types; outputs are added to `out` in theirs. */
pgy_status execute_graph(pgy_graph *g, const pgy_tensor_map *feed, pgy_tensor_map *out,
                         bool model_precision, const execute_limits *limits,
                         pgy_error *err) PGY_MUST_CHECK;

/* One node on values: `inputs` beside its inputs, `captured` beside the values of enclosing levels
 * that its subgraphs use (node_box.captured), both in storage type and borrowed. Subgraphs and
 * functions run too. `outputs` beside its outputs become the caller's. */
pgy_status execute_node(pgy_node *n, const op_tensor *inputs, const op_tensor *captured,
                        op_tensor *outputs, bool model_precision, const execute_limits *limits,
                        pgy_error *err) PGY_MUST_CHECK;

#endif
