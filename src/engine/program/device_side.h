/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a program's context on devices: a stream and an arena for each, and events. */
#ifndef ENGINE_PROGRAM_DEVICE_SIDE_H
#define ENGINE_PROGRAM_DEVICE_SIDE_H

#include "engine/program/program.h"
#include "kernels/launch.h"

typedef struct device_side device_side;

/* `p` must outlive it and have more than one space. */
pgy_status device_side_create(device_side **out, program *p, pgy_error *err) PGY_MUST_CHECK;
void device_side_destroy(device_side *d); /* NULL is fine */
/* The arena and the constants of a device; `space` is not the host's. */
char *device_side_arena(const device_side *d, uint32_t space);
device_stream *device_side_stream(const device_side *d, uint32_t space);
char *device_side_constants(const device_side *d, uint32_t space);
/* Tells where a run finds the addresses of a step's tensors, if it is a copy. */
void device_side_place(device_side *d, size_t step, void *const *addresses);
/* Prepares a launch: loads the kernel's code, and sets where its faults are written. */
pgy_status device_side_prepare(device_side *d, launch *l, size_t step,
                               pgy_error *err) PGY_MUST_CHECK;

/* Clears the faults before a run. A profiled or debugged run (`watched`) enqueues each step alone,
 * without graphs. */
void device_side_start(device_side *d, bool watched);
/* Runs or enqueues a step that the host does not compute. `addresses` has the address of each
 * tensor of the step. Only one thread may call it. */
pgy_status device_side_step(device_side *d, size_t step, const launch *l, void *const *addresses,
                            pgy_error *err) PGY_MUST_CHECK;
/* Ends a run, also a failed one: if `waits`, waits for all enqueued work; then finds the first step
 * whose kernel reported a fault (*faulty = index + 1; 0: none). */
pgy_status device_side_finish(device_side *d, bool waits, size_t *faulty,
                              pgy_error *err) PGY_MUST_CHECK;
/* Waits until the work of a step is done, for profiled and debugged runs. */
pgy_status device_side_settle(device_side *d, size_t step, pgy_error *err) PGY_MUST_CHECK;
/* Copies a tensor to the host (mem_free). */
pgy_status device_side_read(void **out, device_side *d, const program_tensor *t, const void *data,
                            pgy_error *err) PGY_MUST_CHECK;

#endif
