/* SPDX-License-Identifier: Apache-2.0 */
/* What a program's context has on devices: a stream and an arena for each, and events. */
#ifndef ENGINE_PROGRAM_DEVICE_SIDE_H
#define ENGINE_PROGRAM_DEVICE_SIDE_H

#include "engine/program/program.h"
#include "kernels/launch.h"

typedef struct device_side device_side;

/* `p` must outlive it; it has more than one space. */
pgy_status device_side_create(device_side **out, program *p, pgy_error *err) PGY_MUST_CHECK;
void device_side_destroy(device_side *d); /* NULL is fine */
/* Of a space but the host's. */
char *device_side_arena(const device_side *d, uint32_t space);
char *device_side_constants(const device_side *d, uint32_t space);
/* Makes a launch ready: what its kernel has to load, and where its faults go. */
pgy_status device_side_prepare(device_side *d, launch *l, size_t step,
                               pgy_error *err) PGY_MUST_CHECK;

/* Before a run: nothing has failed. */
void device_side_start(device_side *d);
/* A step that is not the host's to compute; `addresses` of its tensors. On one thread. */
pgy_status device_side_step(device_side *d, size_t step, const launch *l, void *const *addresses,
                            pgy_error *err) PGY_MUST_CHECK;
/* Behind a run, whatever became of it: waits for everything that is still going on, and finds the
 * first step whose kernel reported a fault (one more; 0: none). */
pgy_status device_side_finish(device_side *d, bool waits, size_t *faulty,
                              pgy_error *err) PGY_MUST_CHECK;
/* Waits until what a step enqueued is done, for those who look on. */
pgy_status device_side_settle(device_side *d, size_t step, pgy_error *err) PGY_MUST_CHECK;
/* A copy of a tensor on the host (mem_free). */
pgy_status device_side_read(void **out, device_side *d, const program_tensor *t, const void *data,
                            pgy_error *err) PGY_MUST_CHECK;

#endif
