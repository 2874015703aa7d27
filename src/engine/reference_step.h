/* SPDX-License-Identifier: Apache-2.0 */
/* A step without a kernel: the node's reference definition on copies in storage types. */
#ifndef ENGINE_REFERENCE_STEP_H
#define ENGINE_REFERENCE_STEP_H

#include "engine/program.h"
#include "evaluate/execute.h"

/* What has to be known before it can run: subgraphs and functions. */
pgy_status reference_step_prepare(pgy_node *n, pgy_error *err) PGY_MUST_CHECK;
/* `addresses` beside the step's tensors; `operators` for the nodes of its bodies, or NULL. */
pgy_status reference_step_run(const program *p, const program_step *s, void *const *addresses,
                              const execute_operators *operators, pgy_error *err) PGY_MUST_CHECK;

#endif
