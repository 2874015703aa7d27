/* SPDX-License-Identifier: Apache-2.0 */
/* What is taken from a database of Nsight Systems: calls of the host, the device's work that they
 * enqueued, and the ranges around them. */
#ifndef TRACE_NSYS_H
#define TRACE_NSYS_H

#include "trace/sqlite.h"
#include "trace/trace.h"

/* A call of CUDA's runtime or driver. */
typedef struct nsys_call {
    int64_t thread; /* with the process in its upper bits */
    int64_t start, correlation;
    size_t range; /* index of the innermost range around it; SIZE_MAX: none */
} nsys_call;

/* A range of NVTX on a thread. */
typedef struct nsys_range {
    int64_t thread, start, end;
    const char *name;
    size_t parent; /* index of the range around it; SIZE_MAX: none */
    size_t run;    /* index of the outermost range around it, or itself, that is a run; SIZE_MAX */
} nsys_range;

/* A kernel, copy or fill. */
typedef struct nsys_work {
    int64_t start, end, correlation, process, device;
} nsys_work;

typedef struct nsys_text {
    int64_t id;
    const char *text;
} nsys_text;

typedef struct nsys_reader {
    trace_reader *r;
    sqlite_file *db;
    nsys_text *texts; /* sorted by id */
    size_t text_count, text_capacity;
    nsys_call *calls;
    size_t call_count, call_capacity;
    nsys_range *ranges;
    size_t range_count, range_capacity;
    nsys_work *works;
    size_t work_count, work_capacity;
    strmap devices;     /* number of a device -> name */
    bool knows_process; /* kernels tell their process */
    arena memory;
    pgy_error *err;
} nsys_reader;

enum { NSYS_PROCESS_BITS = 24 }; /* of a thread's number, below its process */

static inline pgy_status nsys_no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a trace");
}

/* An error if a table has too many rows. */
pgy_status nsys_limit(const nsys_reader *n, size_t count, const char *table) PGY_MUST_CHECK;
/* The row of a thread of the host. */
pgy_status nsys_host_row(size_t *out, nsys_reader *n, int64_t thread) PGY_MUST_CHECK;
/* The row of a device, "stream 7" for example. */
pgy_status nsys_device_row(size_t *out, nsys_reader *n, int64_t device, int64_t thread,
                           const char *name) PGY_MUST_CHECK;
pgy_status nsys_add(nsys_reader *n, const pgy_trace_event *e, const char *args) PGY_MUST_CHECK;
/* Adds layers and runs: the time on the device between the first and the last work that was
 * enqueued inside a range. */
pgy_status nsys_project(nsys_reader *n) PGY_MUST_CHECK;

#endif
