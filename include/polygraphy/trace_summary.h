/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Where the time of a timeline goes, and which layers of two timelines differ.
 *
 *     pgy_trace *trace = NULL;
 *     pgy_trace_summary *summary = NULL;
 *     char *text = NULL;
 *     if (pgy_trace_load(&trace, "profile.json", &err)) ...
 *     if (pgy_trace_summary_create(&summary, trace, NULL, &err)) ...
 *     if (pgy_trace_summary_text(&text, summary, NULL, &err)) ...
 *     puts(text);
 *
 * A time is that of the slice alone: slices inside it on the same thread are subtracted, so that
 * the times of all layers add up. Warm-up runs are left out. Files that have only the sums of each
 * layer (trtexec --exportProfile, nsys stats) have no samples, no wall time and no idle time.
 */
#ifndef POLYGRAPHY_TRACE_SUMMARY_H
#define POLYGRAPHY_TRACE_SUMMARY_H

#include <polygraphy/machine.h>
#include <polygraphy/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- One timeline --------------------------------------------------------------------------- */

typedef struct pgy_trace_summary_options {
    size_t size;          /**< sizeof(pgy_trace_summary_options) */
    const char *name;     /**< name of the timeline in reports, e.g. its path; NULL: "timeline" */
    const char *category; /**< slices that are summed up; NULL: "layer"; of Nsight Systems' files
                             without layers "kernel" */
    bool with_warm_up;    /**< warm-up runs count, too */
    double gap_us;        /**< shorter gaps between layers are left out; 0: 1 us */
    const pgy_machine_peaks *peaks; /**< compares layers with them (pgy_trace_roof); NULL: no */
} pgy_trace_summary_options;

/** Times of the slices that share a name and an op, of an op, or of runs. */
typedef struct pgy_trace_times {
    const char *name, *op; /**< op: "" if unknown */
    size_t calls;
    double total_us, share; /**< share: of the sum of all layers, 0 to 1 */
    double mean_us, median_us, p90_us, p99_us, min_us, max_us; /**< NaN: not known, in files of
                                                                  sums. Percentiles: nearest rank */
    /** Sums of each run, from which pgy_trace_diff_create judges; the single calls if it is not
     * known to which run they belong. */
    const double *samples;
    size_t sample_count;
    double flops, bytes; /**< of all calls; 0: not known of some call */
    bool same_work;      /**< all calls have the same flops and bytes */
    const char *device;  /**< where it runs: "host", "cuda:0"; "": unknown */
    const char *type;    /**< type of its first input, "float32"; "": unknown */
    int64_t threads;     /**< that shared it; 0: unknown */
} pgy_trace_times;

/** Times in which a row had nothing to do between two layers of a run. */
typedef struct pgy_trace_gap {
    const char *before, *after; /**< names of the layers around it */
    size_t count;
    double total_us, max_us;
} pgy_trace_gap;

/** What keeps a layer from being faster. */
typedef enum pgy_trace_bound {
    PGY_TRACE_BOUND_UNKNOWN, /**< its work, or the peaks of its device, are not known */
    PGY_TRACE_BOUND_COMPUTE, /**< at its operations per byte, arithmetic is the lower roof */
    PGY_TRACE_BOUND_MEMORY   /**< memory is; also if only the bytes are known */
} pgy_trace_bound;

/** A layer beside the peaks of the machine: a roofline. */
typedef struct pgy_trace_roof {
    const pgy_trace_times *layer;
    double us;                    /**< of a call: the median, or the mean if calls differ in work */
    double gflops, gb_per_s;      /**< achieved; 0: not known */
    double intensity;             /**< operations per byte; 0: not known */
    double of_compute, of_memory; /**< shares of the peaks; 0: not known. More than 1: tensors come
                                     from caches, or the kernel needs fewer operations than the
                                     definition */
    double lost_us; /**< of all calls: the time above what the nearer peak would need */
    bool is_far;    /**< below half of both peaks */
    pgy_trace_bound bound;
} pgy_trace_roof;

/** A process that has slices of the category, or runs. A timeline of this library has one for each
 * runner. */
typedef struct pgy_trace_process {
    const char *name;
    int64_t id;
    pgy_trace_times runs;    /**< calls: number of runs; 0: none were recorded */
    size_t warm_up_runs;     /**< runs that were left out */
    size_t runs_with_layers; /**< runs that have slices of the category */
    double wall_us; /**< from the start of the first slice or such run to the end of the last one */
    double run_us;  /**< time inside runs that have slices of the category */
    double busy_us; /**< time in which at least one slice was open */
    double idle_us; /**< the rest of run_us; without runs, the rest of wall_us */
    const pgy_trace_times *layers; /**< the longest total first */
    size_t layer_count;
    const pgy_trace_times *ops; /**< the longest total first */
    size_t op_count;
    const pgy_trace_gap *gaps; /**< the longest total first */
    size_t gap_count;
    bool has_sums_only;          /**< of layers; there is no wall time then */
    const pgy_trace_roof *roofs; /**< with peaks: of each layer. First those that are far from both
                                    peaks, then the near ones, then the unknown ones; of each the
                                    one that loses most time first */
    size_t roof_count;
} pgy_trace_process;

typedef struct pgy_trace_category {
    const char *name;
    size_t count;
    double total_us; /**< sum of the durations of its slices */
} pgy_trace_category;

typedef struct pgy_trace_summary pgy_trace_summary;
/** Sums up a timeline, which may be destroyed afterwards. @param options  NULL: defaults
 * @return PGY_E_NOT_FOUND if it has neither slices of the category nor runs */
PGY_API PGY_MUST_CHECK pgy_status pgy_trace_summary_create(pgy_trace_summary **out,
                                                           const pgy_trace *t,
                                                           const pgy_trace_summary_options *options,
                                                           pgy_error *err);
PGY_API void pgy_trace_summary_destroy(pgy_trace_summary *s);       /**< NULL is fine */
PGY_API size_t pgy_trace_summary_count(const pgy_trace_summary *s); /**< number of processes */
PGY_API const pgy_trace_process *pgy_trace_summary_at(const pgy_trace_summary *s, size_t i);
/** The categories of all slices. */
PGY_API size_t pgy_trace_summary_category_count(const pgy_trace_summary *s);
PGY_API const pgy_trace_category *pgy_trace_summary_category_at(const pgy_trace_summary *s,
                                                                size_t i);

typedef struct pgy_trace_report_options {
    size_t size;      /**< sizeof(pgy_trace_report_options) */
    bool all;         /**< every layer; by default the 20 longest */
    const char *more; /**< appended to "... 12 more", e.g. ", see --all"; NULL: nothing */
} pgy_trace_report_options;
/** Writes a report for the screen. Free with pgy_text_free (tensor.h). @param options  NULL:
 * defaults */
PGY_API PGY_MUST_CHECK pgy_status pgy_trace_summary_text(char **out, const pgy_trace_summary *s,
                                                         const pgy_trace_report_options *options,
                                                         pgy_error *err);
/** Saves summaries as one JSON document, with all layers; the file appears whole or not at all. */
PGY_API PGY_MUST_CHECK pgy_status pgy_trace_summary_save(const char *path,
                                                         const pgy_trace_summary *const *items,
                                                         size_t count, pgy_error *err);

/* ---- Two timelines -------------------------------------------------------------------------- */

typedef enum pgy_trace_verdict {
    PGY_TRACE_NO_DIFFERENCE, /**< none is shown; that does not prove that there is none */
    PGY_TRACE_SLOWER,        /**< B is slower than A */
    PGY_TRACE_FASTER,
    PGY_TRACE_TOO_FEW /**< a side has fewer than 8 samples, so nothing is claimed */
} pgy_trace_verdict;

typedef struct pgy_trace_diff_row {
    const pgy_trace_times *a, *b;
    double a_us, b_us; /**< median of the samples; if a side has none, of a call: both medians, or
                          both means if a median is not known */
    double ratio;      /**< b_us divided by a_us; 0 if a_us is 0 */
    /** Probability of a difference like this between equal distributions, by the Mann-Whitney test
     * of the samples, after Holm's correction for the number of rows; 1 if there are too few. */
    double p;
    pgy_trace_verdict verdict; /**< slower or faster: p is below 0.01 */
} pgy_trace_diff_row;

typedef struct pgy_trace_diff_options {
    size_t size; /**< sizeof(pgy_trace_diff_options) */
    /** A part of the name of the process in A and in B. NULL: the only one that has layers. */
    const char *process_a, *process_b;
} pgy_trace_diff_options;

typedef struct pgy_trace_diff pgy_trace_diff;
/** Compares a process of each; the summaries must outlive *out. Layers match by name and op, the
 * remaining ones by a name that is unique in both.
 * @return PGY_E_NOT_FOUND if a process is not found, or neither a layer nor an op nor runs match;
 * PGY_E_ARGUMENT if several processes could be meant */
PGY_API PGY_MUST_CHECK pgy_status pgy_trace_diff_create(pgy_trace_diff **out,
                                                        const pgy_trace_summary *a,
                                                        const pgy_trace_summary *b,
                                                        const pgy_trace_diff_options *options,
                                                        pgy_error *err);
PGY_API void pgy_trace_diff_destroy(pgy_trace_diff *d); /**< NULL is fine */
/** Layers in both, in the order of the change of their totals, greatest first. */
PGY_API size_t pgy_trace_diff_layer_count(const pgy_trace_diff *d);
PGY_API const pgy_trace_diff_row *pgy_trace_diff_layer_at(const pgy_trace_diff *d, size_t i);
PGY_API size_t pgy_trace_diff_op_count(const pgy_trace_diff *d);
PGY_API const pgy_trace_diff_row *pgy_trace_diff_op_at(const pgy_trace_diff *d, size_t i);
/** The runs; NULL: a side has none. */
PGY_API const pgy_trace_diff_row *pgy_trace_diff_runs(const pgy_trace_diff *d);
/** Layers that only one side has: of A if `of_b` is false. */
PGY_API size_t pgy_trace_diff_unmatched_count(const pgy_trace_diff *d, bool of_b);
PGY_API const pgy_trace_times *pgy_trace_diff_unmatched_at(const pgy_trace_diff *d, bool of_b,
                                                           size_t i);
/** Writes both sides for the screen. Free with pgy_text_free. @param options  NULL: defaults */
PGY_API PGY_MUST_CHECK pgy_status pgy_trace_diff_text(char **out, const pgy_trace_diff *d,
                                                      const pgy_trace_report_options *options,
                                                      pgy_error *err);
/** Saves all rows as JSON; the file appears whole or not at all. */
PGY_API PGY_MUST_CHECK pgy_status pgy_trace_diff_save(const char *path, const pgy_trace_diff *d,
                                                      pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
