/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Timelines: recording what the library does and when, and files that viewers open.
 *
 *     pgy_trace *trace = NULL;
 *     if (pgy_trace_start(NULL, &err)) ...
 *     ...                                                 // build, run, measure
 *     if (pgy_trace_stop(&trace, &err)) ...
 *     if (pgy_trace_save("run.json.gz", trace, &err)) ... // open it in ui.perfetto.dev
 *     pgy_trace_destroy(trace);
 *
 * A recording covers the whole process: phases of builds, timings of kernels, runs of runners and
 * of measured loops, and the layers of the built-in engine with its worker threads.
 * docs/timeline.md describes rows, events and files.
 *
 * A trace is a list of rows, of events in them, and of facts about the whole. Besides recording,
 * readers of other programs' files make one by pgy_trace_create and pgy_trace_add.
 */
#ifndef POLYGRAPHY_TRACE_H
#define POLYGRAPHY_TRACE_H

#include <polygraphy/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pgy_trace pgy_trace;

/* ---- Recording ------------------------------------------------------------------------------ */

typedef struct pgy_trace_options {
    size_t size; /**< sizeof(pgy_trace_options) */
    /** Number of measured runs of each runner whose layers are kept: the first, the last, the
     * slowest, and an even sample; default 20; negative: all. Of the other runs only the slice of
     * the run is kept. */
    int64_t runs;
    uint64_t max_events; /**< default 1000000; the trace states how many events were dropped */
    bool align; /**< run i of all runners starts at the same time; by default times are those of the
                   clock. No effect on a single runner, or on one that runs on several threads */
} pgy_trace_options;
PGY_API pgy_trace_options pgy_trace_options_default(void);

/** Starts recording. @param options  NULL: defaults @return PGY_E_ARGUMENT if the process records
 * already */
PGY_API PGY_MUST_CHECK pgy_status pgy_trace_start(const pgy_trace_options *options, pgy_error *err);
/** Records nothing until it is called with false, for example while a benchmark measures. */
PGY_API void pgy_trace_pause(bool on);
PGY_API bool pgy_trace_is_recording(void); /**< also while paused */
/** Ends recording. No call of the library may be in progress on another thread.
 * @param out  NULL: the records are dropped */
PGY_API PGY_MUST_CHECK pgy_status pgy_trace_stop(pgy_trace **out, pgy_error *err);

/** Begins a phase of the caller, inside the phase begun before. Only phases of the thread that
 * started the recording count. Each begin needs an end. @param name  copied */
PGY_API void pgy_trace_phase_begin(const char *name);
PGY_API void pgy_trace_phase_end(void);

/* ---- What a trace contains ------------------------------------------------------------------ */

/** A row of the timeline: a thread in a viewer. The trace owns the texts. */
typedef struct pgy_trace_row {
    int64_t process, thread; /**< pid and tid in files */
    const char *process_name, *name;
} pgy_trace_row;
PGY_API size_t pgy_trace_row_count(const pgy_trace *t);
PGY_API const pgy_trace_row *pgy_trace_row_at(const pgy_trace *t, size_t i);

typedef enum pgy_trace_kind {
    PGY_TRACE_SLICE,   /**< has a duration; slices of a row nest, or do not overlap */
    PGY_TRACE_INSTANT, /**< a moment */
    PGY_TRACE_COUNTER  /**< its args are series of numbers of its process */
} pgy_trace_kind;

/** The trace owns the texts. */
typedef struct pgy_trace_event {
    pgy_trace_kind kind;
    const char *name;
    const char *category; /**< "phase", "iteration", "layer", "worker", "kernel", "enqueue",
                             "memcpy", "timing", "check" ...; "" for counters */
    size_t row;
    int64_t start_ns, duration_ns; /**< since the start of the trace */
    bool has_run;
    int64_t run;     /**< index of the run that it belongs to, among those of its runner */
    bool is_warm_up; /**< it belongs to a warm-up run */
    uint64_t bytes;  /**< bytes that a layer or copy reads and writes; 0: unknown */
    double flops;    /**< operations of a layer; 0: unknown */
} pgy_trace_event;
PGY_API size_t pgy_trace_event_count(const pgy_trace *t);
/** Event i; they are in the order of their starts, and of two that start together the longer one
 * comes first. */
PGY_API pgy_trace_event pgy_trace_event_at(const pgy_trace *t, size_t i);
/** Gives the args of event i as the text of a JSON object. Free with pgy_text_free (tensor.h). */
PGY_API PGY_MUST_CHECK pgy_status pgy_trace_args(char **out, const pgy_trace *t, size_t i,
                                                 pgy_error *err);

/** Facts about the whole trace: a name, and a value that is the text of a JSON value. In JSON files
 * they are the members of otherData. */
PGY_API size_t pgy_trace_fact_count(const pgy_trace *t);
PGY_API const char *pgy_trace_fact_name(const pgy_trace *t, size_t i);
PGY_API const char *pgy_trace_fact_at(const pgy_trace *t, size_t i);
/** The value of a fact; NULL: there is none of this name. */
PGY_API const char *pgy_trace_fact(const pgy_trace *t, const char *name);
/** Sets a fact to a JSON value (copied), to a text, or to a number. */
PGY_API PGY_MUST_CHECK pgy_status pgy_trace_set_fact(pgy_trace *t, const char *name,
                                                     const char *json, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_trace_set_text(pgy_trace *t, const char *name,
                                                     const char *text, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_trace_set_number(pgy_trace *t, const char *name, double value,
                                                       pgy_error *err);

/** Sets facts about a program's run; each argument may be NULL.
 * @param tool     "polygraphy run" @param command  its command line, of which folders are left out
 * @param model    file of the model: its name without folder, and a hash of its bytes */
PGY_API PGY_MUST_CHECK pgy_status pgy_trace_describe(pgy_trace *t, const char *tool,
                                                     const char *command, const char *model,
                                                     pgy_error *err);

/* ---- Making a trace ------------------------------------------------------------------------- */

/** Makes a trace without rows and events. */
PGY_API PGY_MUST_CHECK pgy_status pgy_trace_create(pgy_trace **out, pgy_error *err);
PGY_API void pgy_trace_destroy(pgy_trace *t); /**< NULL is fine */
/** Finds the row of a process and thread, or adds it. Texts are copied. @param out  index of the
 * row */
PGY_API PGY_MUST_CHECK pgy_status pgy_trace_add_row(size_t *out, pgy_trace *t,
                                                    const pgy_trace_row *row, pgy_error *err);
/** Adds an event; texts are copied, and equal texts share memory.
 * @param args  text of a JSON object; NULL: none. It must be valid: files contain it as it is. An
 * event with a run gets the member "run" */
PGY_API PGY_MUST_CHECK pgy_status pgy_trace_add(pgy_trace *t, const pgy_trace_event *event,
                                                const char *args, pgy_error *err);
/** Sorts the events, as pgy_trace_event_at gives them. Call it after the last pgy_trace_add. */
PGY_API void pgy_trace_sort(pgy_trace *t);

/* ---- Files ---------------------------------------------------------------------------------- */

/** Writes a trace; the file appears whole or not at all. The name decides the form: ".pftrace" or
 * ".perfetto-trace": Perfetto's protobuf; else Chrome's JSON, which Perfetto and chrome://tracing
 * open. With a further ".gz" it is compressed. */
PGY_API PGY_MUST_CHECK pgy_status pgy_trace_save(const char *path, const pgy_trace *t,
                                                 pgy_error *err);

/** The same in two steps: opening fails at once if the file cannot be written, before anything is
 * recorded. */
typedef struct pgy_trace_file pgy_trace_file;
PGY_API PGY_MUST_CHECK pgy_status pgy_trace_file_open(pgy_trace_file **out, const char *path,
                                                      pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_trace_file_write(pgy_trace_file *f, const pgy_trace *t,
                                                       pgy_error *err);
/** Without a write before, no file appears. NULL is fine. */
PGY_API void pgy_trace_file_close(pgy_trace_file *f);

/** Reads a timeline of this library (JSON), a profile of ONNX Runtime, a trace of PyTorch's
 * profiler, the times or the profile of trtexec (--exportTimes, --exportProfile), or another file
 * in Chrome's form; any of them also compressed by gzip. Also reads tables of `nsys stats --format
 * csv`, and the database of `nsys export --type sqlite` by the system's SQLite library, which is
 * opened at run time. Layers of all of them have the category "layer", runs "iteration". Slices may
 * be complete, made of begin and end events, or asynchronous; what has no partner is left out, and
 * the facts "unmatched_begins" and "unmatched_ends" count it. A bare array of events without its
 * end is accepted with the fact "cut_off". Numbers that differ from event to event, such as ids,
 * are left out of the args. A file of sums has no events; pgy_trace_summary_create reads it, and
 * pgy_trace_save refuses it.
 * @return PGY_E_FORMAT with file, line and value for anything else; also for a text over 1 GiB or
 * more than 4 million events; PGY_E_NOT_FOUND for a database if SQLite is not installed */
PGY_API PGY_MUST_CHECK pgy_status pgy_trace_load(pgy_trace **out, const char *path, pgy_error *err);
/** The program that recorded the trace: "Polygraphy", "ONNX Runtime", "PyTorch", "trtexec", "Nsight
 * Systems", or "unknown". */
PGY_API const char *pgy_trace_source(const pgy_trace *t);

#ifdef __cplusplus
}
#endif
#endif
