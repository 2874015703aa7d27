/* SPDX-License-Identifier: Apache-2.0 */
/* Runs operators one by one, with kernels: for graphs whose shapes depend on data, and for the
 * bodies of branches and loops. */
#ifndef ENGINE_PROGRAM_INTERPRET_H
#define ENGINE_PROGRAM_INTERPRET_H

#include <stdatomic.h>

#include "evaluate/execute.h"
#include "kernels/team.h"

typedef struct interpreter interpreter;

/* `t` NULL: the calling thread does all work. The team must outlive the interpreter. */
pgy_status interpreter_create(interpreter **out, team *t, pgy_error *err) PGY_MUST_CHECK;
void interpreter_destroy(interpreter *it);
/* The table of operators for execute_limits; one run at a time. */
const execute_operators *interpreter_operators(const interpreter *it);
/* Another thread may set *failed to a status other than PGY_OK to stop a run at the next node.
 * NULL: runs cannot be stopped. */
void interpreter_stop_by(interpreter *it, const atomic_int *failed);
/* Asks `room` where a result of a node should be written; NULL: anywhere. */
typedef void *interpreter_room(void *user, const pgy_value *v, pgy_dtype dtype, size_t rank,
                               const int64_t *shape);
void interpreter_place_by(interpreter *it, interpreter_room *room, void *user);
/* Callbacks of profiled and debugged runs, called after nodes of the top graph; NULL members are
 * not called. */
typedef struct interpreter_watch {
    void *user;
    void (*time)(void *user, const pgy_node *n, int64_t ns);
    bool (*show)(void *user, const pgy_value *v, const op_tensor *value); /* false: stop */
} interpreter_watch;
/* Sets the callbacks for the next runs; borrowed, NULL: none. */
void interpreter_watch_by(interpreter *it, const interpreter_watch *watch);
/* Number of node executions so far that used a kernel. */
uint64_t interpreter_kernel_runs(const interpreter *it);

#endif
