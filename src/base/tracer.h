/* SPDX-License-Identifier: Apache-2.0 */
/* Records what the process does and when, for timelines. Each thread writes records of 64 bytes
 * into a ring of its own: no lock, and no allocation after its first record. A ring is emptied
 * between runs, where nothing is measured. While nothing is recorded, a call costs one load.
 *
 *     const uint32_t run = tracer_run_begin("trt", 0);
 *     ...
 *     tracer_span(TRACE_LAYER, label, tracer_row(TRACE_LAYER), start, end);
 *     tracer_run_end(run, start, end);
 */
#ifndef BASE_TRACER_H
#define BASE_TRACER_H

#include <polygraphy/base.h>

#include <stdatomic.h>

typedef enum trace_kind {
    TRACE_PHASE,
    TRACE_RUN,
    TRACE_LAYER,
    TRACE_ENQUEUE,
    TRACE_COPY,
    TRACE_WORKER,
    TRACE_KERNEL,
    TRACE_TIMING, /* one timing of a kernel while a program is built */
    TRACE_CHECK,
    TRACE_MEMORY, /* counters */
    TRACE_BUSY,
    TRACE_SPAN, /* three kinds of traces that other programs wrote: all they say is in the label */
    TRACE_POINT,
    TRACE_COUNT,
    TRACE_KIND_END
} trace_kind;

#define TRACE_NONE UINT32_MAX
enum {
    TRACE_ROWS_PER_STREAM = 8
}; /* of a process that runs models: a stream has rows of its own */

typedef struct trace_record {
    int64_t start_ns, end_ns; /* clock_ns; equal for instants and counters */
    uint32_t kind, label, row, run;
    uint64_t words[4]; /* by kind:
                          RUN: index, 1 if it is a warm-up, 1 if its layers are recorded
                          ENQUEUE, KERNEL: correlation (0: none)
                          COPY: bytes, correlation (0: none)
                          WORKER: part, number of parts
                          CHECK: count, index of the first element
                          MEMORY: bytes of live tensors, weights, workspace
                          BUSY: number of busy workers */
} trace_record;

/* What many records share. */
typedef struct trace_label {
    const char *name;
    const char *category; /* NULL: that of the kind */
    const char *args;     /* members of a JSON object, without braces; "": none */
    uint64_t bytes;       /* that one execution reads and writes; 0: unknown */
    uint64_t live_bytes, weight_bytes, workspace_bytes; /* memory while it runs */
    double flops;                                       /* of one execution; 0: unknown */
} trace_label;

typedef struct trace_row {
    int64_t process, thread; /* pid and tid of the file */
    const char *process_name, *name;
} trace_row;

typedef struct trace_run {
    uint32_t runs; /* index of the run's process among those that run models */
    uint32_t row;  /* of its slice */
    uint32_t index, measured_index;
    bool is_warm_up;
    int64_t start_ns, end_ns; /* end 0: not finished */
} trace_run;

extern atomic_uint tracer_state; /* read it by the functions below */
enum { TRACER_RECORDS = 1, TRACER_RANGES = 2 };

/* Is anything recorded, or are NVTX ranges wanted? */
static inline bool tracer_is_on(void)
{
    return atomic_load_explicit(&tracer_state, memory_order_relaxed) != 0;
}

/* ---- Labels and rows: these take a lock, so call them before what is measured ---------------- */

/* Number of the recording: labels and rows of an earlier one are void. */
uint32_t tracer_epoch(void);
/* Keeps a copy. TRACE_NONE: nothing is recorded, or no memory is left; records with it are
 * dropped. */
uint32_t tracer_label(const trace_label *label);
/* The label with this name and without args; made on first use. */
uint32_t tracer_name(const char *name);
/* The row of this thread for slices of a kind, in the process of its current run: TRACE_RUN,
 * TRACE_LAYER, TRACE_COPY, TRACE_ENQUEUE. */
uint32_t tracer_row(trace_kind kind);
/* The row for layers that a device computes, beside that of the host's layers: they may overlap.
 * `space`: 1, 2 or 3. */
uint32_t tracer_device_layers(size_t space, const char *device_name);
/* The row of the stream on which the current run enqueues its work. `device`: its number. */
uint32_t tracer_device_row(size_t device, const char *device_name);
/* A number that connects a call of the host with the work of a device that it enqueues. */
uint64_t tracer_correlation(void);
/* How far a time of a device's clock was from where its conversion puts it; the largest counts. */
void tracer_note_residual(int64_t ns);

/* ---- Records --------------------------------------------------------------------------------- */

/* Adds a record to this thread's ring; a full ring drops it and counts it. */
void tracer_put(const trace_record *r);
/* Adds a slice of the current run. */
void tracer_span(trace_kind kind, uint32_t label, uint32_t row, int64_t start_ns, int64_t end_ns);
/* Adds a slice to the row of this worker thread. */
void tracer_work(uint32_t label, uint32_t run, int64_t start_ns, int64_t end_ns, uint32_t part,
                 uint32_t parts);
/* Moves the records of all rings to the store. Call it between pieces of work of at most some ten
 * thousand records. */
void tracer_drain(void);

/* ---- Phases ---------------------------------------------------------------------------------- */

/* Phases nest. Only those of the thread that started the recording count. */
void tracer_phase_begin(const char *what);
void tracer_phase_end(void);
/* The row for slices inside a phase; TRACE_NONE on any other thread. */
uint32_t tracer_phase_row(void);

/* ---- Runs ------------------------------------------------------------------------------------ */

/* Opens a run of this thread, in the process "runner <r>: <runner>". TRACE_NONE: nothing is
 * recorded, or a run is open on this thread already, which goes on. */
uint32_t tracer_run_begin(const char *runner);
/* The open run of this thread; TRACE_NONE: none. */
uint32_t tracer_run(void);
/* Ends the run, which took from start_ns to end_ns. `run` TRACE_NONE does nothing. */
void tracer_run_end(uint32_t run, int64_t start_ns, int64_t end_ns, bool is_warm_up);
/* The same; the slice is what tracer_run_took said, or else from start_ns to end_ns. */
void tracer_run_end_as_told(uint32_t run, int64_t start_ns, int64_t end_ns);
/* Says when the work of the open run was done, if what opened it does other work, too. Its slice
 * then covers only that. */
void tracer_run_took(int64_t start_ns, int64_t end_ns);
/* May time be spent on looking at the values of the open run, behind it? A measured loop, whose
 * runs have the same data, says no for all runs but its first. */
bool tracer_checks_values(void);
void tracer_set_checks(bool on);
/* Forgets a run that failed. */
void tracer_run_drop(uint32_t run);
/* Index of the open run among those of its process; the first is 0. */
uint32_t tracer_run_index(void);
/* Runs of this thread are warm-up runs from now on, or no longer. */
void tracer_set_warm_up(bool on);
bool tracer_is_warm_up(void);

/* ---- A recording ----------------------------------------------------------------------------- */

typedef struct tracer_limits {
    int64_t runs;     /* number of measured runs of each process whose layers are kept; negative:
                         all */
    uint64_t records; /* most records of all */
} tracer_limits;

/* What a recording has made. The arrays are the caller's (tracer_take_deinit). */
typedef struct tracer_take {
    trace_record *records;
    size_t record_count;
    trace_label *labels;
    size_t label_count;
    trace_row *rows;
    size_t row_count;
    trace_run *runs;
    size_t run_count;
    uint64_t dropped; /* records lost because a ring or the store was full */
    size_t left_out;  /* runs whose layers were not kept */
    int64_t start_ns;
    double cost_ns;      /* of one slice, measured on empty ranges */
    int64_t residual_ns; /* of the conversion of devices' times; negative: no device */
    void *memory;        /* of the texts */
} tracer_take;

/* PGY_E_ARGUMENT: a recording is going on. */
pgy_status tracer_start(const tracer_limits *limits, pgy_error *err) PGY_MUST_CHECK;
/* Nothing is recorded until the pause ends. Labels stay valid. */
void tracer_pause(bool on);
bool tracer_is_recording(void); /* also while paused */
/* Ends the recording. `out` NULL: drops everything. No other thread may be recording. */
pgy_status tracer_stop(tracer_take *out, pgy_error *err) PGY_MUST_CHECK;
void tracer_take_deinit(tracer_take *t);

#endif
