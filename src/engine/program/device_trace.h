/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded runs on devices: when each step ran there, by the device's own clock, and the calls of
 * the host that enqueued it. Nothing waits between steps. */
#ifndef ENGINE_PROGRAM_DEVICE_TRACE_H
#define ENGINE_PROGRAM_DEVICE_TRACE_H

#include "engine/program/device_side.h"

typedef struct device_trace device_trace;

/* Events and labels for one recording. `labels`: of the layers, borrowed. NULL: out of memory, or a
 * device refuses; then a run waits for each step, and the host's clock measures it. */
device_trace *device_trace_create(const program *p, const device_side *d, const uint32_t *labels);
void device_trace_destroy(device_trace *t); /* NULL is fine */

/* Finds the rows of the current run. */
void device_trace_rows(device_trace *t);
/* Compares the clocks, before the first step. */
void device_trace_start(device_trace *t);
/* Does the step run on a device, or wait for one? Then these two stand around it. */
bool device_trace_takes(const device_trace *t, size_t step);
void device_trace_before(device_trace *t, size_t step);
void device_trace_after(device_trace *t, size_t step, int64_t begin_ns, int64_t end_ns);
/* Records the layers, kernels and copies of a run whose work is done, and sets when they ended. */
void device_trace_finish(device_trace *t, int64_t *ends);
/* The row of the layer of a step on a device. */
uint32_t device_trace_row(const device_trace *t, size_t step);

#endif
