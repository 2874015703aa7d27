/* SPDX-License-Identifier: Apache-2.0 */
/* Captures consecutive steps of one device as a device graph, so that one call enqueues them
 * all. */
#ifndef ENGINE_PROGRAM_DEVICE_GRAPHS_H
#define ENGINE_PROGRAM_DEVICE_GRAPHS_H

#include "engine/program/program.h"
#include "kernels/launch.h"

typedef struct device_graphs device_graphs;

pgy_status device_graphs_create(device_graphs **out, const program *p,
                                pgy_error *err) PGY_MUST_CHECK;
void device_graphs_destroy(device_graphs *g); /* NULL is fine; the device must be idle */
/* Registers the launch of a step. The launch must not move, and its addresses must be final when a
 * run starts. */
void device_graphs_add(device_graphs *g, size_t step, const launch *l);
/* Tells where a run finds the addresses of a step that copies. */
void device_graphs_place(device_graphs *g, size_t step, void *const *addresses);
/* Begins a run. Graphs are used from the second run on: the first run shows that all kernels work,
 * and a context that runs once needs no graph. A profiled or debugged run (`watched`) uses none. */
void device_graphs_start(device_graphs *g, bool watched);
/* Enqueues a step if it belongs to a graph: the graph's first step enqueues all its steps. *done
 * false: the caller enqueues the step. */
pgy_status device_graphs_step(bool *done, device_graphs *g, size_t step, device_stream *stream,
                              pgy_error *err) PGY_MUST_CHECK;

/* A step has recorded an event on the device's stream. */
void device_graphs_record(device_graphs *g, uint32_t event, size_t step);
/* The host is about to wait for an event, and has waited for it: outputs that graphs have brought
 * go to the caller's memory. */
void device_graphs_expect(device_graphs *g, uint32_t event);
void device_graphs_arrive(device_graphs *g, uint32_t event);

#endif
