/* SPDX-License-Identifier: Apache-2.0 */
/* The trace in memory: the records of base/tracer.h, their labels, rows and runs, and facts. */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

#include <polygraphy/trace.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "base/str.h"
#include "base/tracer.h"
#include "base/tracer_text.h"

/* What a file says of all executions of a layer together, instead of one slice for each. */
typedef struct trace_sum {
    uint32_t label, row;
    uint64_t calls;
    double total_us, median_us, min_us, max_us; /* of the calls; NaN: not known, except the total */
} trace_sum;

struct pgy_trace {
    trace_record *records;
    size_t record_count, record_capacity;
    trace_label *labels;
    size_t label_count, label_capacity;
    trace_row *rows;
    size_t row_count, row_capacity;
    trace_run *runs;
    size_t run_count;
    trace_sum *sums;
    size_t sum_count, sum_capacity;
    strmap known;      /* of labels that were added: name, category and args -> index + 1 */
    strmap facts;      /* name -> text of a JSON value, in `memory` */
    tracer_take taken; /* owner of the recording's texts */
    arena memory;
    int64_t start_ns;
    const char *source;   /* program that recorded it, a literal; NULL: this library */
    const char *category; /* that summaries take unless told otherwise, a literal; NULL: "layer" */
};

/* What the events of a kind are in files. */
typedef struct kind_form {
    const char *category;
    pgy_trace_kind form;
    bool has_label_args; /* the label's args are written */
} kind_form;
const kind_form *trace_kind_form(uint32_t kind);

/* The run of an event; NULL: none. */
const trace_run *trace_run_of(const pgy_trace *t, const trace_record *r);

/* A member of the args that belongs to the event, not to its label. */
typedef struct trace_arg {
    const char *name;
    enum { ARG_INT, ARG_BOOL, ARG_MILLI } type; /* MILLI: thousandths */
    int64_t value;
} trace_arg;
enum { TRACE_MAX_ARGS = 8 };
size_t trace_event_args(trace_arg out[TRACE_MAX_ARGS], const pgy_trace *t, const trace_record *r);

/* The label with this name, category and args (members of an object, without braces). */
pgy_status trace_find_label(uint32_t *out, pgy_trace *t, const pgy_trace_event *e, const char *args,
                            pgy_error *err) PGY_MUST_CHECK;

/* The id of the arrow from a call of the host to the work of a device that it enqueued; 0: none. */
uint64_t trace_flow(const trace_record *r, bool *is_end);

/* ---- derive.c ---- */
/* Adds counters, which follow from the slices, and aligns runs. */
pgy_status trace_derive(pgy_trace *t, uint64_t max_records, bool align,
                        pgy_error *err) PGY_MUST_CHECK;

/* ---- Readers ---- */
/* `path` is for errors. */
pgy_status trace_parse(pgy_trace **out, span text, const char *path, pgy_error *err) PGY_MUST_CHECK;

/* The beginning or end of a slice that two events make. */
typedef struct trace_edge {
    size_t record; /* of the event itself; that of the beginning becomes the slice */
    uintptr_t id;  /* of an asynchronous slice; 0: a slice of a thread */
    bool is_end;
} trace_edge;

enum { TRACE_MOST_EVENTS = 4000000, TRACE_MOST_ROWS = 4096 };

/* A file that is being read. */
typedef struct trace_reader {
    const char *path;
    pgy_trace *trace;
    arena item;       /* the JSON of the current event */
    strmap rows;      /* process and thread -> index + 1 */
    strmap processes; /* process -> name, in the trace's memory */
    strmap words;     /* processes and threads that are texts -> number */
    strmap warm;      /* runs of this library that are warm-up */
    strmap ids;       /* of asynchronous slices -> number */
    trace_edge *edges;
    size_t edge_count, edge_capacity;
    uint64_t profiled_runs;  /* of a profile of trtexec; 0: not read yet */
    size_t ort, torch, mine; /* events that only this program writes */
    int64_t first_ns;        /* start of the earliest event */
    uint64_t count;          /* items of the file */
} trace_reader;
/* An item of traceEvents. */
pgy_status trace_read_event(trace_reader *r, const json_value *item, pgy_error *err) PGY_MUST_CHECK;
/* Makes slices of the events that begin and end them, after the last event. */
pgy_status trace_pair_edges(trace_reader *r, pgy_error *err) PGY_MUST_CHECK;
/* An item of trtexec's array of sums. */
pgy_status trace_read_profile(trace_reader *r, const json_value *item,
                              pgy_error *err) PGY_MUST_CHECK;
/* Adds the sums of a layer. `figures` lacks label and row. */
pgy_status trace_add_sum(trace_reader *r, const pgy_trace_row *row, const pgy_trace_event *e,
                         const char *op, const trace_sum *figures, pgy_error *err) PGY_MUST_CHECK;
/* Chooses what summaries of a file of Nsight Systems take: layers, or else kernels ... */
void trace_choose_category(pgy_trace *t);
/* Tables of `nsys stats --format csv`. */
pgy_status trace_read_tables(trace_reader *r, span text, pgy_error *err) PGY_MUST_CHECK;
/* The database of `nsys export --type sqlite`. */
pgy_status trace_read_nsys(trace_reader *r, pgy_error *err) PGY_MUST_CHECK;
/* An item of trtexec's array of times. */
pgy_status trace_read_times(trace_reader *r, const json_value *item, pgy_error *err) PGY_MUST_CHECK;
/* Names, runs and the source, after the last event. */
pgy_status trace_read_end(trace_reader *r, pgy_error *err) PGY_MUST_CHECK;

/* ---- Writers: a sink takes bytes and compresses them, if wanted ---- */
typedef struct trace_sink trace_sink;
pgy_status sink_create(trace_sink **out, file_writer *file, bool compresses,
                       pgy_error *err) PGY_MUST_CHECK;
/* The buffer to append to. */
str *sink_text(trace_sink *s);
/* Writes the buffer if it is large. Errors are kept until sink_finish. */
void sink_flow(trace_sink *s);
pgy_status sink_finish(trace_sink *s, pgy_error *err) PGY_MUST_CHECK;
void sink_destroy(trace_sink *s);

typedef void (*trace_form)(trace_sink *s, const pgy_trace *t);
void trace_write_json(trace_sink *s, const pgy_trace *t);
void trace_write_perfetto(trace_sink *s, const pgy_trace *t);

#endif
