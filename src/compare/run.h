/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of the driver: the verdict of a run as it grows, and the forms of running. */
#ifndef COMPARE_RUN_H
#define COMPARE_RUN_H

#include "base/str.h"
#include "compare/judge.h"

/* ---- The verdict (tally.c) ------------------------------------------------------------------ */

/* What becomes of the verdicts on an iteration. Averages need them all. */
typedef enum verdict_keeping { KEEP_VERDICTS, KEEP_COUNTS } verdict_keeping;

/* Judges iteration after iteration and collects every reason to fail. */
typedef struct tally {
    pgy_judge_options options;
    verdict_keeping keeping;
    pgy_compare *fallback; /* the default function, if the caller gave none */
    const pgy_compare *const *functions;
    size_t function_count;
    pgy_accuracy_results *accuracy;
    pgy_accuracy **entries;    /* one per function, in `accuracy` */
    const pgy_verdicts **seen; /* of the pair at hand, one per function */
    strvec runners;            /* lined up, as in the first iteration */
    size_t *pairs;             /* positions of the consecutive pairs in each entry */
    size_t *elements;          /* per pair: how many were compared */
    size_t iteration_count, failed_iterations;
    size_t empty;     /* comparisons of sides without any outputs */
    size_t validated; /* elements */
    compare_gaps gaps;
    bool begun, failed, stopped; /* stopped: fail_fast, or validation that failed in a stream */
    bool out_of_memory;
    strvec absent; /* runners that lack an iteration */
    str reason;    /* the first reason to fail; "" while there is none */
} tally;

/* Checks the options; functions are borrowed. */
pgy_status tally_init(tally *t, const pgy_judge_options *options, verdict_keeping keeping,
                      pgy_error *err) PGY_MUST_CHECK;
void tally_deinit(tally *t);
/* Compares the consecutive pairs of one iteration of all runners. */
pgy_status tally_iteration(tally *t, const pgy_iteration *const *its, size_t count,
                           pgy_error *err) PGY_MUST_CHECK;
/* After the last iteration: the verdict on all of them, and the summaries. */
pgy_status tally_finish(tally *t, pgy_error *err) PGY_MUST_CHECK;
/* The verdict is no. The reason is kept if it is the first. */
void tally_fail(tally *t, const char *format, ...) PGY_PRINTF(2, 3);
/* The same for reasons that metrics and thresholds do not tell: they are kept in the accuracy
 * results as well. */
void tally_fail_for_good(tally *t, const char *format, ...) PGY_PRINTF(2, 3);
/* The same where the original says yes: with `compat` its verdict stays, after a WARNING that says
 * so. */
void tally_fail_unless_compat(tally *t, const char *format, ...) PGY_PRINTF(2, 3);
/* Results of a runner have no iteration of the current number, while others have one. Unless
 * `compat`, the runners have no more iterations in common. */
void tally_absent(tally *t, const char *runner);
/* Streams of different lengths: `counts[i] == shared` marks those that ran out first. */
void tally_uneven(tally *t, const bool *ran_out, size_t stream_count, size_t shared);

/* Everything of materialised results (accuracy_run.c). */
pgy_status tally_results(tally *t, const pgy_results *const *results, size_t count,
                         pgy_error *err) PGY_MUST_CHECK;

/* Validates everything of materialised results, if that is asked for (accuracy_run.c). */
pgy_status tally_validate(tally *t, const pgy_results *const *results, size_t count,
                          pgy_error *err) PGY_MUST_CHECK;

/* ---- Running -------------------------------------------------------------------------------- */

/* What a form of running works on. */
typedef struct run_context {
    pgy_runner *const *runners;
    size_t runner_count;
    const pgy_run_options *options;
    pgy_data_loader *loader; /* never NULL when there are runners */
    tally *verdict;          /* NULL in pgy_infer_all */
} run_context;

pgy_status stream_run(run_context *c, pgy_error *err) PGY_MUST_CHECK;     /* stream.c */
pgy_status sequential_run(run_context *c, pgy_error *err) PGY_MUST_CHECK; /* sequential.c */
pgy_status sequential_infer(pgy_results **out, run_context *c, pgy_error *err) PGY_MUST_CHECK;

/* ---- One inference, with its log (infer.c) -------------------------------------------------- */

/* Matches `feed` to the runner, runs, and gives the outputs. */
pgy_status infer_once(pgy_tensor_map **out, pgy_runner *r, const pgy_tensor_map *feed,
                      pgy_error *err) PGY_MUST_CHECK;
/* Input that fits the runner: a new map, or a copy if the runner does not know its inputs. */
pgy_status infer_match(pgy_tensor_map **out, pgy_runner *r, const pgy_tensor_map *feed,
                       pgy_error *err) PGY_MUST_CHECK;
/* Runs on matched input, and logs outputs (once per text) and time. */
pgy_status infer_matched(pgy_tensor_map **out, pgy_runner *r, const pgy_tensor_map *feed,
                         pgy_error *err) PGY_MUST_CHECK;
/* "---- Inference Input(s) ----" and the metadata of a map; owned. NULL: out of memory. */
char *infer_describe(const char *title, const pgy_tensor_map *m);
/* Values of a map for EXTRA_VERBOSE, after a heading. */
void infer_log_values(const char *heading, const pgy_tensor_map *m);
double infer_seconds(const pgy_runner *r); /* of the last inference; NaN if not known */
/* Was the caller's question whether to stop answered yes? */
pgy_status run_check_cancelled(const pgy_run_options *o, pgy_error *err) PGY_MUST_CHECK;

/* ---- Saving as iterations come (save.c) ----------------------------------------------------- */

typedef struct saver {
    const pgy_run_options *options;
    pgy_feed_writer *inputs;
    pgy_results_writer *outputs;
    size_t feed_count;
} saver;
/* Opens what the options name. */
pgy_status saver_open(saver *s, const pgy_run_options *options, pgy_error *err) PGY_MUST_CHECK;
pgy_status saver_add_feed(saver *s, const pgy_tensor_map *feed, pgy_error *err) PGY_MUST_CHECK;
pgy_status saver_add_results(saver *s, const pgy_results *iteration, pgy_error *err) PGY_MUST_CHECK;
/* Completes the files; without it nothing is left of single files. */
pgy_status saver_finish(saver *s, pgy_error *err) PGY_MUST_CHECK;
void saver_close(saver *s);
/* PGY_E_ARGUMENT if two of the paths are the same place. */
pgy_status saver_check_paths(const pgy_run_options *options, pgy_error *err) PGY_MUST_CHECK;

/* ---- All input data, for running one runner after the other (cache.c) ----------------------- */

typedef struct feed_cache {
    pgy_data_loader *loader;
    const pgy_run_options *options; /* asked whether to go on while loading */
    pgy_tensor_map **feeds;         /* what the loader gave; big tensors are swapped out */
    size_t count, capacity;
    bool loaded;
    size_t regenerated; /* iterations taken from the loader again since its last rewind */
    bool regenerating;
} feed_cache;
void feed_cache_deinit(feed_cache *c);
/* Tells the loader what the runner takes, and loads everything the first time. */
pgy_status feed_cache_begin(feed_cache *c, pgy_runner *r, pgy_error *err) PGY_MUST_CHECK;
/* Appends one iteration; the map moves in, also on failure. */
pgy_status feed_cache_adopt(feed_cache *c, pgy_tensor_map *feed, pgy_error *err) PGY_MUST_CHECK;
/* Iteration i with every tensor in memory. */
pgy_status feed_cache_get(pgy_tensor_map **out, const feed_cache *c, size_t i,
                          pgy_error *err) PGY_MUST_CHECK;
/* Iteration i as the runner takes it; data that does not fit is generated again where the loader
 * can. */
pgy_status feed_cache_match(pgy_tensor_map **out, feed_cache *c, size_t i, pgy_runner *r,
                            pgy_error *err) PGY_MUST_CHECK;

/* ---- One runner over all data (sequential.c), possibly in a child process (subprocess.c) ---- */

/* Where the iterations of a runner go. */
typedef struct run_sink {
    pgy_status (*feed)(void *user, pgy_tensor_map *feed,
                       pgy_error *err); /* NULL, or: data was loaded; borrowed */
    pgy_status (*iteration)(void *user, const pgy_tensor_map *outputs, double runtime_s,
                            pgy_error *err);
    void *user;
} run_sink;
pgy_status sequential_one(run_context *c, feed_cache *cache, pgy_runner *r, const run_sink *sink,
                          pgy_error *err) PGY_MUST_CHECK;
/* The same in a forked child, whose crash or silence is an error here. */
pgy_status subprocess_one(run_context *c, feed_cache *cache, pgy_runner *r, const run_sink *sink,
                          pgy_error *err) PGY_MUST_CHECK;

#endif
