/* SPDX-License-Identifier: Apache-2.0 */
/* The store of a recording: everything here is called with its lock held. */
#ifndef BASE_TRACER_STATE_H
#define BASE_TRACER_STATE_H

#include <pthread.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/tracer.h"

enum { MAX_LANES = 64 };

/* A process of the file that runs models: a runner. */
typedef struct trace_process {
    const char *name;
    uint64_t lanes[MAX_LANES]; /* keys of the threads that have run it */
    size_t lane_count;
    uint32_t count, measured;                                   /* numbers of finished runs */
    uint32_t first, last, slowest, first_warm_up, last_warm_up; /* runs; TRACE_NONE: none yet */
    uint32_t stride; /* every stride-th measured run is kept */
} trace_process;

typedef struct tracer_store {
    pthread_mutex_t lock;
    tracer_limits limits;
    trace_record *records;
    size_t record_count, record_capacity;
    size_t shrunk; /* record_count after the last removal */
    trace_label *labels;
    size_t label_count, label_capacity;
    strmap names; /* name -> index + 1 of the label without args */
    trace_row *rows;
    size_t row_count, row_capacity;
    trace_run *runs;
    size_t run_count, run_capacity;
    trace_process *processes;
    size_t process_count, process_capacity;
    arena memory;
    uint64_t dropped;
    int64_t start_ns;
    double cost_ns;
    int64_t residual_ns; /* negative: none was noted */
} tracer_store;

void store_open(tracer_store *s, const tracer_limits *limits);
void store_close(tracer_store *s);
void store_add(tracer_store *s, const trace_record *records, size_t count);
uint32_t store_label(tracer_store *s, const trace_label *label);
uint32_t store_name(tracer_store *s, const char *name);
/* `process_name` NULL: the process has a row already. */
uint32_t store_row(tracer_store *s, int64_t process, const char *process_name, int64_t thread,
                   const char *name);
bool store_take(tracer_take *out, tracer_store *s);

/* ---- tracer_keep.c ---- */
/* Notes the end of a run, on which depends what is kept. */
void store_note_end(tracer_store *s, uint32_t run);
/* Removes the records of runs that are not kept, if the store has grown much. */
void store_shrink(tracer_store *s);
void store_shrink_now(tracer_store *s, bool at_end);

/* ---- tracer_rings.c ---- */
/* The store, locked; NULL: nothing is recorded. */
tracer_store *tracer_lock(void);
tracer_store *tracer_hold(void); /* the same, also while nothing is recorded */
void tracer_unlock(tracer_store *s);
void tracer_set_recording(bool on);
/* Empties all rings into the store, or drops their records. */
void rings_empty(bool keep);

#endif
