/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a prepared kernel. Programs, interpretation, measuring and tests all use it; no other code
 * calls a kernel's `run` or `enqueue`.
 *
 * A host kernel has one or more phases, each of which begins when the one before it is complete and
 * is cut into parts that several threads may share. A device kernel is one call that
 * enqueues all work on a stream.
 */
#ifndef KERNELS_LAUNCH_H
#define KERNELS_LAUNCH_H

#include <stdatomic.h>

#include "kernels/kernel.h"
#include "kernels/team.h"

typedef struct launch {
    /* Without phase, part, scratch and fault, which differ between calls of `run`. */
    kernel_run run;
    uint32_t phases;
    double shared_ns; /* for programs: the estimate, if several threads share the launch */
    char *scratch;    /* that of thread 0; that of thread i lies i strides behind it */
    size_t scratch_stride;
} launch;

/* Describes kernel k with plan p, cut into `parts`. The caller sets tensors, packed, workspace and
 * scratch before it runs the launch. */
launch launch_of(const kernel *k, const kernel_plan *p, uint32_t parts);

/* Launches of host kernels fail with a status of kernel_fault_status, or with PGY_E_CANCELLED when
 * the process was asked to stop. Phases behind a failure do not run. */

/* Runs one part of one phase, with the scratch of thread 0. `resumed`: that is as the part before
 * it left it. */
pgy_status launch_part(const launch *l, uint32_t phase, uint32_t part, bool resumed);
/* Runs all phases and parts on this thread, with the scratch of thread 0. */
pgy_status launch_alone(const launch *l);
/* Runs all phases and parts on a team that runs no task; the caller is the team's first thread. */
pgy_status launch_on_team(const launch *l, team *t);
/* What a thread of a team notes while it takes part in a launch. */
typedef struct launch_notes {
    atomic_int *failed;    /* status of the first failure, of this launch or an earlier one */
    atomic_size_t *faulty; /* gets `number` with that status; may be NULL */
    size_t number;
    int64_t *begin_ns, *end_ns; /* when the thread could begin, and ended its parts, if it had any;
                                   may be NULL */
} launch_notes;

/* Does the work of one thread inside a team's task: a round of the team for each phase. A thread
 * that is done takes parts that others have not begun. Parts do not run once *failed holds a
 * status. False: the task is over, and the thread must return without a look at its data. */
bool launch_in_team(const launch *l, team *t, size_t thread, const launch_notes *n);

/* Enqueues a device kernel. The caller sets l->run.fault to NULL or to memory that the device
 * reaches. */
pgy_status launch_enqueue(const launch *l, device_stream *stream, pgy_error *err) PGY_MUST_CHECK;

#endif
