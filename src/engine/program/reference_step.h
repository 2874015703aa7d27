/* SPDX-License-Identifier: Apache-2.0 */
/* A step without a kernel: the node's reference definition on copies in storage types. */
#ifndef ENGINE_PROGRAM_REFERENCE_STEP_H
#define ENGINE_PROGRAM_REFERENCE_STEP_H

#include "engine/program/program.h"
#include "evaluate/execute.h"

/* Prepares node n for running as a step: its subgraphs and functions. */
pgy_status reference_step_prepare(pgy_node *n, pgy_error *err) PGY_MUST_CHECK;
/* Ties a step to its node. A step without subgraphs gets a copy of the operator in `memory`, so
 * that its runs do not read the graph, which other threads may be changing. */
pgy_status reference_step_bind(program_step *s, pgy_node *n, uint32_t node_index, arena *memory,
                               pgy_error *err) PGY_MUST_CHECK;
/* Runs a step without subgraphs. `addresses` has the address of each of its tensors. */
pgy_status reference_step_run(const program *p, const program_step *s, void *const *addresses,
                              pgy_error *err) PGY_MUST_CHECK;

#endif
