/* SPDX-License-Identifier: Apache-2.0 */
/* How a prepared kernel is run. Programs, interpretation, measuring and tests all come here: nobody
 * else calls a kernel's `run` or `enqueue`.
 *
 * A host kernel is a number of phases, with a barrier between two; each phase is cut into parts,
 * which several threads may do. A device kernel is one call that enqueues all of it on a stream.
 */
#ifndef KERNELS_LAUNCH_H
#define KERNELS_LAUNCH_H

#include "kernels/kernel.h"
#include "kernels/team.h"

typedef struct launch {
    kernel_run run; /* but for phase, part, scratch and fault, which each call gets */
    uint32_t phases;
    char *scratch; /* of part 0; that of part i lies i strides further */
    size_t scratch_stride;
} launch;

/* Of a kernel with the plan that it made, cut into `parts`. Who runs it sets tensors, packed,
 * workspace and scratch. */
launch launch_of(const kernel *k, const kernel_plan *p, uint32_t parts);

/* A host kernel fails with that of kernel_fault_status, or PGY_E_CANCELLED: if the process is to
 * stop it does nothing more. Phases behind a failure do not run. */

/* One part of one phase: the unit that is timed. */
pgy_status launch_part(const launch *l, uint32_t phase, uint32_t part);
/* All phases and parts on this thread. */
pgy_status launch_alone(const launch *l);
/* On a team that is at rest; the caller is its first thread. */
pgy_status launch_on_team(const launch *l, team *t);
/* What one thread of a team does within a task; all its threads call it. A status in *failed, from
 * this launch or another, keeps phases from running. True: this call has set it. */
bool launch_in_team(const launch *l, team *t, size_t thread, atomic_int *failed);

/* A device kernel. l->run.fault is set, in memory that the device reaches, or NULL. */
pgy_status launch_enqueue(const launch *l, device_stream *stream, pgy_error *err) PGY_MUST_CHECK;

#endif
