/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between the caller's tensors and a device that are part of a graph. A graph always uses the
 * addresses with which it was captured, but the caller may pass other tensors in each run. So these
 * copies use a buffer that host and device share, the room: the host copies inputs to it before it
 * launches the graph, and outputs from it after it has waited for the graph. */
#ifndef ENGINE_PROGRAM_DEVICE_COPIES_H
#define ENGINE_PROGRAM_DEVICE_COPIES_H

#include "engine/program/program.h"

typedef enum device_copy_way { COPY_OTHER, COPY_IN, COPY_OUT } device_copy_way;

typedef struct device_copies {
    struct device_copy_step *items; /* in the order of the steps */
    size_t count, capacity;
    char *room;        /* NULL: not allocated so far */
    size_t room_bytes; /* of all items */
    device *device;
    bool goes_out; /* some item is a COPY_OUT */
} device_copies;

/* Says whether a graph can do a step of the program: a copy of up to 1 MiB from an input, or to an
 * output that no other copy reads. */
device_copy_way device_copy_way_of(const program *p, uint32_t step);
/* Counts a step's bytes among those of a graph's copies. False: there is no room for them. */
bool device_copies_fit(size_t *room_bytes, const program *p, uint32_t step);
/* Adds a step that is COPY_IN or COPY_OUT. False: out of memory. */
bool device_copies_add(device_copies *c, const program *p, uint32_t step);
void device_copies_deinit(device_copies *c); /* the device must be idle */

/* Sets where a run finds the addresses of a step's two tensors; other steps are ignored. */
void device_copies_place(device_copies *c, uint32_t step, void *const *addresses);
/* Allocates the room, and loads what copies need. */
pgy_status device_copies_open(device_copies *c, device_stream *s, pgy_error *err) PGY_MUST_CHECK;
/* Enqueues the copy of a step between the room and the device. */
pgy_status device_copies_enqueue(const device_copies *c, uint32_t step, device_stream *s,
                                 pgy_error *err) PGY_MUST_CHECK;

void device_copies_bring(const device_copies *c); /* inputs to the room */
void device_copies_ready(const device_copies *c); /* the memory of outputs, while the host waits */
void device_copies_take(const device_copies *c);  /* outputs from the room */

#endif
