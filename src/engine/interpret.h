/* SPDX-License-Identifier: Apache-2.0 */
/* Running operators one by one, with kernels: for graphs whose shapes depend on data, and for the
 * bodies of branches and loops. */
#ifndef ENGINE_INTERPRET_H
#define ENGINE_INTERPRET_H

#include "evaluate/execute.h"
#include "kernels/team.h"

typedef struct interpreter interpreter;

/* `t` NULL: all work is done by the calling thread. It must outlive the interpreter. */
pgy_status interpreter_create(interpreter **out, team *t, pgy_error *err) PGY_MUST_CHECK;
void interpreter_destroy(interpreter *it);
/* To be used in execute_limits; one run at a time. */
const execute_operators *interpreter_operators(const interpreter *it);
/* Nodes that ran by a kernel since it was made. */
uint64_t interpreter_kernel_runs(const interpreter *it);

#endif
