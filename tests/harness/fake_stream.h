/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and events of fake devices (fake_device.h), for the files that implement them. */
#ifndef HARNESS_FAKE_STREAM_H
#define HARNESS_FAKE_STREAM_H

#include "harness/fake_device.h"
#include "harness/fake_memory.h"

typedef struct fake_device {
    device device;
    fake_schedule schedule;
    const char *fingerprint;
} fake_device;

struct fake_moment;

typedef struct fake_task {
    struct fake_task *next;
    void (*run)(struct fake_task *t, fake_device *d);
    struct fake_moment *moment; /* event recording to make or to wait for */
    bool waits;                 /* the task waits for `moment`; otherwise it records it */
    fake_block *block;          /* block that the task allocates or releases */
    fake_work work;
    void *to;
    const void *from;
    size_t size_bytes;
    device_direction direction;
    bool copies;
    uint8_t byte;
} fake_task;

/* Takes the one lock of all fake devices. It is recursive. */
void fake_enter(void);
void fake_leave(void);
/* The functions below need the lock. */
void fake_enqueue(device_stream *s, fake_task t);
/* Will an enqueued copy that has not run yet read this host memory? */
bool fake_streams_read(const char *memory, size_t size_bytes);
bool fake_streams_any(const device *d); /* does the device have streams that were not destroyed? */
void fake_streams_seed(uint64_t seed);

/* Prints a sentence and aborts. */
__attribute__((format(printf, 1, 2), noreturn)) void fake_give_up(const char *format, ...);
/* Ends the process if p is NULL, but not by an abort: tests take an abort for a mistake that the
 * fake device found, and lack of memory is none. */
void *fake_need(void *p);

/* ---- Members of device_functions ---- */
pgy_status fake_stream_create(device_stream **out, device *d, pgy_error *err);
pgy_status fake_stream_synchronize(device_stream *s, pgy_error *err);
void fake_stream_destroy(device_stream *s);
pgy_status fake_event_create(device_event **out, device *d, pgy_error *err);
void fake_event_destroy(device_event *e);
pgy_status fake_event_record(device_event *e, device_stream *s, pgy_error *err);
pgy_status fake_event_wait(device_stream *s, device_event *e, pgy_error *err);
pgy_status fake_event_synchronize(device_event *e, pgy_error *err);
pgy_status fake_event_elapsed(double *out_ns, device_event *from, device_event *to, pgy_error *err);

#endif
