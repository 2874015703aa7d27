/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the driver: the verdict that a run collects, and the two ways to run
 * (streaming and sequential). */
#ifndef COMPARE_RUN_H
#define COMPARE_RUN_H

#include "base/str.h"
#include "compare/judge.h"

/* ---- The verdict (tally.c) ------------------------------------------------------------------ */

/* Whether the verdicts of each iteration are kept, or only counted. Averages need all of them. */
typedef enum verdict_keeping { KEEP_VERDICTS, KEEP_COUNTS } verdict_keeping;

/* Judges iteration after iteration and collects every reason to fail. */
typedef struct tally {
    pgy_judge_options options;
    verdict_keeping keeping;
    pgy_compare *fallback; /* the default function, if the caller gave none */
    const pgy_compare *const *functions;
    size_t function_count;
    pgy_accuracy_results *accuracy;
    pgy_accuracy **entries;    /* indexed by comparison function: its entry in `accuracy` */
    const pgy_verdicts **seen; /* verdicts on the current pair, indexed by comparison function */
    strvec runners;            /* names, in the order of the first iteration */
    size_t *pairs;    /* indexed by pair of consecutive runners: the pair's position in each of
                         `entries` */
    size_t *elements; /* indexed by pair: number of elements compared */
    size_t iteration_count, failed_iterations;
    size_t empty;     /* number of comparisons where neither runner had an output */
    size_t validated; /* number of elements checked for NaN and infinity */
    compare_gaps gaps;
    bool begun, failed, stopped; /* stopped: fail_fast, or validation that failed in a stream */
    bool out_of_memory;
    strvec absent; /* runners that lack an iteration */
    str reason;    /* the first reason to fail; "": none so far */
} tally;

/* Checks the options; functions are borrowed. */
pgy_status tally_init(tally *t, const pgy_judge_options *options, verdict_keeping keeping,
                      pgy_error *err) PGY_MUST_CHECK;
void tally_deinit(tally *t);
/* Compares the consecutive pairs of one iteration of all runners. */
pgy_status tally_iteration(tally *t, const pgy_iteration *const *its, size_t count,
                           pgy_error *err) PGY_MUST_CHECK;
/* Call after the last iteration: forms the verdict on all iterations and logs the summaries. */
pgy_status tally_finish(tally *t, pgy_error *err) PGY_MUST_CHECK;
/* Makes the run fail. Keeps the reason if it is the first one. */
void tally_fail(tally *t, const char *format, ...) PGY_PRINTF(2, 3);
/* Like tally_fail, for reasons that do not follow from metrics and thresholds. Also keeps the
 * reason in the accuracy results. */
void tally_fail_for_good(tally *t, const char *format, ...) PGY_PRINTF(2, 3);
/* Like tally_fail_for_good, for cases that pass in the original: with `compat` the run does not
 * fail, and a WARNING says so. */
void tally_fail_unless_compat(tally *t, const char *format, ...) PGY_PRINTF(2, 3);
/* Notes that a runner has no results for the current iteration, while other runners have. This
 * fails the run unless `compat`. */
void tally_absent(tally *t, const char *runner);
/* Notes that streams have different lengths: only the first `shared` iterations were compared.
 * ran_out[i] marks the streams that ended there. */
void tally_uneven(tally *t, const bool *ran_out, size_t stream_count, size_t shared);

/* Compares all iterations of results in memory (accuracy_run.c). */
pgy_status tally_results(tally *t, const pgy_results *const *results, size_t count,
                         pgy_error *err) PGY_MUST_CHECK;

/* Validates results in memory if the options ask for it (accuracy_run.c). */
pgy_status tally_validate(tally *t, const pgy_results *const *results, size_t count,
                          pgy_error *err) PGY_MUST_CHECK;

/* ---- Running -------------------------------------------------------------------------------- */

/* Arguments of stream_run, sequential_run and sequential_infer. */
/* The time of an inference. */
typedef struct infer_time {
    double whole_s;       /* NaN: unknown */
    double preparation_s; /* of it, to prepare for new shapes; 0: nothing was prepared; NaN: unknown
                           */
} infer_time;

/* ---- times.c ---- */
typedef struct run_times {
    infer_time *items; /* of one runner's iterations */
    size_t count, capacity;
} run_times;
/* False: out of memory. */
bool run_times_add(run_times *t, infer_time one);
void run_times_deinit(run_times *t);
/* Says whether times of a runner include preparation: "first 3.1 ms, then 0.2 ms". */
void run_times_log(const char *runner, const run_times *t);

typedef struct run_context {
    pgy_runner *const *runners;
    size_t runner_count;
    const pgy_run_options *options;
    pgy_data_loader *loader; /* never NULL when there are runners */
    tally *verdict;          /* NULL in pgy_infer_all */
    run_times *times;        /* of all inferences, for reports; NULL: not wanted */
} run_context;

pgy_status stream_run(run_context *c, pgy_error *err) PGY_MUST_CHECK;     /* stream.c */
pgy_status sequential_run(run_context *c, pgy_error *err) PGY_MUST_CHECK; /* sequential.c */
pgy_status sequential_infer(pgy_results **out, run_context *c, pgy_error *err) PGY_MUST_CHECK;

/* ---- One inference, with its log (infer.c) -------------------------------------------------- */

/* Matches `feed` to the runner, runs it, and returns the outputs. */
pgy_status infer_once(pgy_tensor_map **out, pgy_runner *r, const pgy_tensor_map *feed,
                      pgy_error *err) PGY_MUST_CHECK;
/* Converts `feed` to the inputs of the runner: a new map, or a copy if the runner does not know its
 * inputs. */
pgy_status infer_match(pgy_tensor_map **out, pgy_runner *r, const pgy_tensor_map *feed,
                       pgy_error *err) PGY_MUST_CHECK;
/* Runs on matched input. Logs the outputs (once per text) and the time. */
pgy_status infer_matched(pgy_tensor_map **out, pgy_runner *r, const pgy_tensor_map *feed,
                         pgy_error *err) PGY_MUST_CHECK;
/* "---- Inference Input(s) ----" and the metadata of a map; owned. NULL: out of memory. */
char *infer_describe(const char *title, const pgy_tensor_map *m);
/* Values of a map for EXTRA_VERBOSE, after a heading. */
void infer_log_values(const char *heading, const pgy_tensor_map *m);
infer_time infer_time_of(const pgy_runner *r); /* of the last inference */
/* PGY_E_CANCELLED if the caller's `cancelled` callback asks to stop. */
pgy_status run_check_cancelled(const pgy_run_options *o, pgy_error *err) PGY_MUST_CHECK;

/* ---- Saving as iterations come (save.c) ----------------------------------------------------- */

typedef struct saver {
    const pgy_run_options *options;
    pgy_feed_writer *inputs;
    pgy_results_writer *outputs;
    size_t feed_count;
} saver;
/* Opens the files that the options name. */
pgy_status saver_open(saver *s, const pgy_run_options *options, pgy_error *err) PGY_MUST_CHECK;
pgy_status saver_add_feed(saver *s, const pgy_tensor_map *feed, pgy_error *err) PGY_MUST_CHECK;
pgy_status saver_add_results(saver *s, const pgy_results *iteration, pgy_error *err) PGY_MUST_CHECK;
/* Completes the files. Without this call, single files are removed. */
pgy_status saver_finish(saver *s, pgy_error *err) PGY_MUST_CHECK;
void saver_close(saver *s);
/* PGY_E_ARGUMENT if two of the paths name the same file. */
pgy_status saver_check_paths(const pgy_run_options *options, pgy_error *err) PGY_MUST_CHECK;

/* ---- All input data, for running one runner after the other (cache.c) ----------------------- */

typedef struct feed_cache {
    pgy_data_loader *loader;
    const pgy_run_options *options; /* its `cancelled` callback is called while loading */
    pgy_tensor_map **feeds;         /* loaded iterations; big tensors are swapped out */
    size_t count, capacity;
    bool loaded;
    size_t regenerated; /* iterations that the loader generated again since its last rewind */
    bool regenerating;
} feed_cache;
void feed_cache_deinit(feed_cache *c);
/* Passes the runner's inputs to the loader. The first call loads all iterations. */
pgy_status feed_cache_begin(feed_cache *c, pgy_runner *r, pgy_error *err) PGY_MUST_CHECK;
/* Appends one iteration and takes over its map, also on failure. */
pgy_status feed_cache_adopt(feed_cache *c, pgy_tensor_map *feed, pgy_error *err) PGY_MUST_CHECK;
/* Iteration i with every tensor in memory. */
pgy_status feed_cache_get(pgy_tensor_map **out, const feed_cache *c, size_t i,
                          pgy_error *err) PGY_MUST_CHECK;
/* Iteration i, matched to the runner. Data that does not fit is generated again if the loader can
 * do so. */
pgy_status feed_cache_match(pgy_tensor_map **out, feed_cache *c, size_t i, pgy_runner *r,
                            pgy_error *err) PGY_MUST_CHECK;

/* ---- One runner over all data (in_process.c), possibly in a child process (subprocess.c) ---- */

/* Where the iterations of a runner go. */
typedef struct run_sink {
    /* called for each loaded iteration, which it borrows; NULL: not wanted */
    pgy_status (*feed)(void *user, pgy_tensor_map *feed, pgy_error *err);
    pgy_status (*iteration)(void *user, const pgy_tensor_map *outputs, infer_time time,
                            pgy_error *err);
    void *user;
} run_sink;
pgy_status in_process_one(run_context *c, feed_cache *cache, pgy_runner *r, const run_sink *sink,
                          pgy_error *err) PGY_MUST_CHECK;
/* The same in a forked child. If the child crashes or times out, this returns an error. */
pgy_status subprocess_one(run_context *c, feed_cache *cache, pgy_runner *r, const run_sink *sink,
                          pgy_error *err) PGY_MUST_CHECK;

#endif
