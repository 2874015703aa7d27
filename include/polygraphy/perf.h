/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Measuring engines: a loop over one or more streams, its times, their statistics, and the report
 * and the files of trtexec.
 *
 *     pgy_perf_options o = pgy_perf_options_default();
 *     pgy_perf_trace *trace = NULL;
 *     char *text = NULL;
 *     if (pgy_perf_measure(&trace, NULL, engine, feed, &o, &err)) ...
 *     if (pgy_perf_text(&text, trace, NULL, &err)) ...
 *     puts(text);
 *
 * The loop copies the inputs into the engine's memory (H2D), runs the engine (compute) and copies
 * the outputs out of it (D2H), one after the other, on the thread of the stream. So the enqueue
 * time of a run is its compute time.
 */
#ifndef POLYGRAPHY_PERF_H
#define POLYGRAPHY_PERF_H

#include <polygraphy/bench.h>
#include <polygraphy/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Inputs --------------------------------------------------------------------------------- */

/** Makes a tensor for each input of an engine: bool 0 or 1, uint8 0 to 255, other integers -128 to
 * 127, floats -1 to 1. Name, type, shape and seed decide the values.
 * @param profile  its usual shapes count where `shapes` has none
 * @param shapes   of some inputs, by name; NULL: none. Of an input whose elements are a shape it
 * gives the elements */
PGY_API PGY_MUST_CHECK pgy_status pgy_perf_inputs(pgy_tensor_map **out, const pgy_engine *engine,
                                                  size_t profile, const pgy_metadata *shapes,
                                                  uint64_t seed, pgy_error *err);

/* ---- The loop ------------------------------------------------------------------------------- */

typedef struct pgy_perf_options {
    size_t size;        /**< sizeof(pgy_perf_options) */
    int64_t iterations; /**< least number of measured runs of each stream; default 10 */
    double warm_up_ms;  /**< runs that begin earlier are not measured; default 200 */
    double duration_s;  /**< least time of measuring, default 3; negative: until pgy_cancel, which
                           then is no failure */
    double sleep_ms;    /**< pause between the input copies and the run, not measured; default 0 */
    double idle_ms;     /**< pause after each run; default 0 */
    size_t streams;     /**< contexts that run at the same time, each on a thread; default 1 */
    size_t threads; /**< threads of each context; 0, the default: as many as the engine was built
                       for, divided by the number of streams */
    bool no_copies; /**< use inputs and outputs in place: H2D and D2H are 0 */
    bool has_profile;
    size_t profile; /**< profile that the shapes must lie in, if has_profile */
    /** Runs that an endless loop (negative duration_s) keeps, of all streams together: the last
     * ones. 0: 262144, which take 16 MiB. Other loops keep all runs. */
    size_t window;
} pgy_perf_options;
PGY_API pgy_perf_options pgy_perf_options_default(void);

/** Times of one run in milliseconds since the start of the loop. */
typedef struct pgy_perf_run {
    double enqueue_start, enqueue_end;
    double h2d_start, h2d_end;
    double compute_start, compute_end;
    double d2h_start, d2h_end;
} pgy_perf_run;

typedef struct pgy_perf_trace pgy_perf_trace;
/** Runs an engine again and again: until both the number of runs and the time are reached.
 * @param outputs  receives the outputs of the first stream's last run, which the caller destroys;
 * NULL: not wanted
 * @param feed     a tensor for each input @param options NULL: defaults */
PGY_API PGY_MUST_CHECK pgy_status pgy_perf_measure(pgy_perf_trace **out, pgy_tensor_map **outputs,
                                                   pgy_engine *engine, const pgy_tensor_map *feed,
                                                   const pgy_perf_options *options, pgy_error *err);
/** Makes a trace of given times, for example of another program. */
PGY_API PGY_MUST_CHECK pgy_status pgy_perf_trace_create(pgy_perf_trace **out,
                                                        const pgy_perf_run *runs, size_t count,
                                                        pgy_error *err);
PGY_API void pgy_perf_trace_destroy(pgy_perf_trace *t); /**< NULL is fine */
/** The number of measured runs; pgy_perf_trace_at gives them in the order of their starts. */
PGY_API size_t pgy_perf_trace_count(const pgy_perf_trace *t);
PGY_API const pgy_perf_run *pgy_perf_trace_at(const pgy_perf_trace *t, size_t i);
PGY_API size_t pgy_perf_warm_up_count(const pgy_perf_trace *t); /**< runs before those measured */
/** What all runs together took to prepare programs for shapes that came for the first time, in ms;
 * compute times include it. *measured (may be NULL): the number of measured runs that did so. */
PGY_API double pgy_perf_preparation_ms(size_t *measured, const pgy_perf_trace *t);
/** Measured runs that the trace has no longer (pgy_perf_options.window). */
PGY_API size_t pgy_perf_dropped_count(const pgy_perf_trace *t);

/* ---- Statistics ----------------------------------------------------------------------------- */

typedef enum pgy_perf_metric {
    PGY_PERF_LATENCY, /**< H2D + compute + D2H */
    PGY_PERF_ENQUEUE,
    PGY_PERF_H2D,
    PGY_PERF_COMPUTE,
    PGY_PERF_D2H
} pgy_perf_metric;
PGY_API double pgy_perf_time(const pgy_perf_run *run, pgy_perf_metric metric); /**< ms */

typedef struct pgy_perf_stats {
    double min, max, mean, median; /**< ms; 0 without runs */
    double variance_percent;       /**< standard deviation divided by the mean, times 100 */
} pgy_perf_stats;
PGY_API PGY_MUST_CHECK pgy_status pgy_perf_summarize(pgy_perf_stats *out, const pgy_perf_trace *t,
                                                     pgy_perf_metric metric, pgy_error *err);
/** Gives the p-th percentile, 0 to 100, in ms: of N sorted times the one at N - 1 - trunc((1 -
 * p/100) N).
 * @param like_trtexec  compute the index in float, as trtexec does: of 100 times, its percentile 99
 * is the greatest */
PGY_API PGY_MUST_CHECK pgy_status pgy_perf_percentile(double *out, const pgy_perf_trace *t,
                                                      pgy_perf_metric metric, double p,
                                                      bool like_trtexec, pgy_error *err);
/** Time from the first measured run's start to the last one's end, in ms. */
PGY_API double pgy_perf_wall_ms(const pgy_perf_trace *t);
PGY_API double pgy_perf_throughput(const pgy_perf_trace *t); /**< runs per second */

/* ---- The report ----------------------------------------------------------------------------- */

typedef struct pgy_perf_text_options {
    size_t size;               /**< sizeof(pgy_perf_text_options) */
    const double *percentiles; /**< NULL: 90, 95, 99 */
    size_t percentile_count;
    int64_t average_runs; /**< size of a group of the listing; 0: 10 */
    bool has_warm_up;     /**< the first lines tell of the warm-up */
    double warm_up_ms;
} pgy_perf_text_options;
/** Writes trtexec's report, from "Warmup completed" to the totals. Free with pgy_text_free.
 * @param options  NULL: defaults */
PGY_API PGY_MUST_CHECK pgy_status pgy_perf_text(char **out, const pgy_perf_trace *t,
                                                const pgy_perf_text_options *options,
                                                pgy_error *err);
/** Writes what makes the figures doubtful, one line each; "" if nothing does. Free with
 * pgy_text_free.
 * @param streams  number of streams of the loop */
PGY_API PGY_MUST_CHECK pgy_status pgy_perf_warnings(char **out, const pgy_perf_trace *t,
                                                    size_t streams, pgy_error *err);

/* ---- Files ---------------------------------------------------------------------------------- */

/** Writes a JSON array with the times of each run (trtexec --exportTimes). */
PGY_API PGY_MUST_CHECK pgy_status pgy_perf_times_save(const char *path, const pgy_perf_trace *t,
                                                      pgy_error *err);
/** Reads such a file, also one with the keys that trtexec had before 8.4 (startInMs ...). */
PGY_API PGY_MUST_CHECK pgy_status pgy_perf_times_load(pgy_perf_trace **out, const char *path,
                                                      pgy_error *err);
/** Writes a JSON array with name, dimensions, type and values of each tensor (trtexec
 * --exportOutput). NaN and infinities are the texts "NaN", "Infinity" and "-Infinity". */
PGY_API PGY_MUST_CHECK pgy_status pgy_perf_outputs_save(const char *path,
                                                        const pgy_tensor_map *outputs,
                                                        pgy_error *err);
/** Reads such a file, also one of NVIDIA's trtexec, into tensors of float32, or of the types that
 * the file names. */
PGY_API PGY_MUST_CHECK pgy_status pgy_perf_outputs_load(pgy_tensor_map **out, const char *path,
                                                        pgy_error *err);

/* ---- Layers --------------------------------------------------------------------------------- */

typedef struct pgy_perf_layer {
    const char *name;
    double total_ms, average_ms, median_ms; /**< of all runs, per run, of the median run */
    double percent;                         /**< of the sum of all layers */
} pgy_perf_layer;
typedef struct pgy_perf_profile pgy_perf_profile;
/** Runs the loop of `options` with clocks around each layer. This takes longer than a run without
 * them, so these runs are not part of a trace. */
PGY_API PGY_MUST_CHECK pgy_status pgy_perf_profile_layers(pgy_perf_profile **out,
                                                          pgy_engine *engine,
                                                          const pgy_tensor_map *feed,
                                                          const pgy_perf_options *options,
                                                          pgy_error *err);
PGY_API void pgy_perf_profile_destroy(pgy_perf_profile *p); /**< NULL is fine */
PGY_API size_t pgy_perf_profile_runs(const pgy_perf_profile *p);
PGY_API size_t pgy_perf_profile_count(const pgy_perf_profile *p);
PGY_API const pgy_perf_layer *pgy_perf_profile_at(const pgy_perf_profile *p, size_t i);
/** Sums over the layers: total, per run, of the median run. */
PGY_API pgy_perf_layer pgy_perf_profile_total(const pgy_perf_profile *p);
/** Writes trtexec's table of layers. Free with pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_perf_profile_text(char **out, const pgy_perf_profile *p,
                                                        pgy_error *err);
/** Writes a JSON array with the number of runs and the layers (trtexec --exportProfile). */
PGY_API PGY_MUST_CHECK pgy_status pgy_perf_profile_save(const char *path, const pgy_perf_profile *p,
                                                        pgy_error *err);

/* ---- Summaries ------------------------------------------------------------------------------ */

/** What a summary says besides the times. */
typedef struct pgy_perf_summary {
    size_t size;               /**< sizeof(pgy_perf_summary) */
    const char *command_line;  /**< NULL: null */
    const double *percentiles; /**< NULL: 90, 95, 99 */
    size_t percentile_count;
    size_t streams;                  /**< of the loop; 0: 1 */
    double engine_s;                 /**< time of building or loading the engine */
    uint64_t plan_bytes;             /**< 0: not known */
    const pgy_perf_profile *profile; /**< NULL: without layers */
} pgy_perf_summary;
/** Writes a JSON object with the figures of all metrics, the warnings, the layers, and the
 * latencies of runs for pgy_perf_summary_compare. @param summary NULL: defaults */
PGY_API PGY_MUST_CHECK pgy_status pgy_perf_summary_save(const char *path, const pgy_perf_trace *t,
                                                        const pgy_perf_summary *summary,
                                                        pgy_error *err);
/** The same without the latencies, as text. Free with pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_perf_summary_text(char **out, const pgy_perf_trace *t,
                                                        const pgy_perf_summary *summary,
                                                        pgy_error *err);
/** Compares latencies with those of a file that pgy_perf_summary_save wrote, with the method of
 * pgy_bench_compare. @return PGY_E_ARGUMENT: the trace has fewer than 8 runs */
PGY_API PGY_MUST_CHECK pgy_status pgy_perf_summary_compare(pgy_bench_verdict *out,
                                                           const pgy_perf_trace *now,
                                                           const char *path, pgy_error *err);

/* ---- Accuracy ------------------------------------------------------------------------------- */

typedef enum pgy_perf_loss_kind {
    PGY_LOSS_L0,   /**< share of elements with |a - r| > atol + rtol |r| */
    PGY_LOSS_L1,   /**< mean of |a - r| */
    PGY_LOSS_L2,   /**< mean of (a - r)^2 */
    PGY_LOSS_LINF, /**< greatest |a - r| */
    PGY_LOSS_COS   /**< 1 - cosine of the angle between a and r */
} pgy_perf_loss_kind;
/** Computes a loss in double. NaN on one side or, except for L0, a loss that is undefined gives
 * NaN; equal infinities differ by 0.
 * @return PGY_E_SHAPE if the numbers of elements differ, or are 0; PGY_E_TYPE for texts */
PGY_API PGY_MUST_CHECK pgy_status pgy_perf_loss(double *out, pgy_perf_loss_kind kind,
                                                pgy_view actual, pgy_view reference, double atol,
                                                double rtol, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
