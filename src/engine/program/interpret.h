/* SPDX-License-Identifier: Apache-2.0 */
/* Running operators one by one, with kernels: for graphs whose shapes depend on data, and for the
 * bodies of branches and loops. */
#ifndef ENGINE_PROGRAM_INTERPRET_H
#define ENGINE_PROGRAM_INTERPRET_H

#include <stdatomic.h>

#include "evaluate/execute.h"
#include "kernels/team.h"

typedef struct interpreter interpreter;

/* `t` NULL: all work is done by the calling thread. It must outlive the interpreter. */
pgy_status interpreter_create(interpreter **out, team *t, pgy_error *err) PGY_MUST_CHECK;
void interpreter_destroy(interpreter *it);
/* To be used in execute_limits; one run at a time. */
const execute_operators *interpreter_operators(const interpreter *it);
/* A status that is PGY_OK; another thread may set it to stop a run at the next node. NULL: none. */
void interpreter_stop_by(interpreter *it, const atomic_int *failed);
/* Looks on while nodes of the top graph run; NULL members: nobody wants it. */
typedef struct interpreter_watch {
    void *user;
    void (*time)(void *user, const pgy_node *n, int64_t ns);
    bool (*show)(void *user, const pgy_value *v, const op_tensor *value); /* false: stop */
} interpreter_watch;
/* Borrowed, for the runs to come; NULL: nobody. */
void interpreter_watch_by(interpreter *it, const interpreter_watch *watch);
/* Nodes that ran by a kernel since it was made. */
uint64_t interpreter_kernel_runs(const interpreter *it);

#endif
