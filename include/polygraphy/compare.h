/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Results of inference, functions that compare them, and a driver that runs runners and gives a
 * verdict.
 *
 *     pgy_run_options o = pgy_run_options_default();
 *     o.loader = loader;
 *     pgy_run_report *report = NULL;
 *     if (pgy_run(&report, runners, 2, &o, &err)) ...      // could not run
 *     else if (!pgy_run_report_passed(report)) ...          // ran, and the verdict is no
 *     pgy_run_report_destroy(report);
 *
 * Each step is also a function of its own: pgy_infer_all, pgy_compare_accuracy, pgy_validate,
 * pgy_postprocess. Formulas, messages and formats are those of Polygraphy 0.53.6 (docs/compare.md
 * lists the repaired defects).
 */
#ifndef POLYGRAPHY_COMPARE_H
#define POLYGRAPHY_COMPARE_H

#include <polygraphy/data.h>
#include <polygraphy/runner.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Results of inference -------------------------------------------------------------------- */

/** One inference of one runner. */
typedef struct pgy_iteration {
    char *runner_name;
    pgy_tensor_map *outputs;
    double runtime_s; /**< time in seconds; NaN: unknown (null in files) */
} pgy_iteration;

/** All iterations of one or more runners; names may repeat. */
typedef struct pgy_results pgy_results;
PGY_API PGY_MUST_CHECK pgy_status pgy_results_create(pgy_results **out, pgy_error *err);
PGY_API void pgy_results_destroy(pgy_results *r);
PGY_API size_t pgy_results_runner_count(const pgy_results *r);
PGY_API const char *pgy_results_runner_name(const pgy_results *r, size_t runner);
PGY_API size_t pgy_results_iteration_count(const pgy_results *r, size_t runner);
PGY_API const pgy_iteration *pgy_results_at(const pgy_results *r, size_t runner, size_t iteration);
/** Adds a runner without iterations. *index receives its index; index may be NULL. */
PGY_API PGY_MUST_CHECK pgy_status pgy_results_add_runner(pgy_results *r, const char *name,
                                                         size_t *index, pgy_error *err);
/** Adds an iteration, which shares the tensors and moves them to disk if they exceed the swap
 * threshold. runtime_s NaN: unknown. */
PGY_API PGY_MUST_CHECK pgy_status pgy_results_add(pgy_results *r, size_t runner,
                                                  const pgy_tensor_map *outputs, double runtime_s,
                                                  pgy_error *err);
/** Loads a file, or a folder of files with one iteration each (a path without extension that is a
 * folder). Logs "Loading inference results from ..." */
PGY_API PGY_MUST_CHECK pgy_status pgy_results_load(pgy_results **out, const char *path,
                                                   pgy_error *err);
/** Writes the same bytes as the original. A path without extension becomes a folder, unless it is
 * an existing file. */
PGY_API PGY_MUST_CHECK pgy_status pgy_results_save(const pgy_results *r, const char *path,
                                                   pgy_error *err);

/** Reads one iteration at a time, so that only one is in memory. *out: the results of one
 * iteration, NULL at the end. A runner with fewer iterations than others stays in the results,
 * without iterations. */
typedef struct pgy_results_reader pgy_results_reader;
PGY_API PGY_MUST_CHECK pgy_status pgy_results_reader_open(pgy_results_reader **out,
                                                          const char *path, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_results_reader_next(pgy_results **out, pgy_results_reader *r,
                                                          pgy_error *err);
PGY_API void pgy_results_reader_close(pgy_results_reader *r);
/** Writes iterations one by one and keeps none in memory: each call adds one iteration of every
 * runner. A single file appears at finish; until then, temporary files in TMPDIR hold the
 * iterations of all runners but the first. A folder grows file by file. */
typedef struct pgy_results_writer pgy_results_writer;
PGY_API PGY_MUST_CHECK pgy_status pgy_results_writer_create(pgy_results_writer **out,
                                                            const char *path, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_results_writer_add(pgy_results_writer *w,
                                                         const pgy_results *iteration,
                                                         pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_results_writer_finish(pgy_results_writer *w, pgy_error *err);
PGY_API void pgy_results_writer_destroy(pgy_results_writer *w);

/* ---- Comparison functions -------------------------------------------------------------------- */

/** A number as the user wrote it: an integer stays an integer in files and in integer comparisons.
 */
typedef struct pgy_number {
    bool is_integer;
    int64_t integer;
    double real; /**< set in both cases */
} pgy_number;

typedef enum pgy_error_stat {
    PGY_STAT_ELEMWISE,
    PGY_STAT_MAX,
    PGY_STAT_MEAN,
    PGY_STAT_MEDIAN,
    PGY_STAT_QUANTILE
} pgy_error_stat;

/** A value for one output; the name "" gives the value for all others. */
typedef struct pgy_number_entry {
    const char *name;
    pgy_number value;
} pgy_number_entry;
typedef struct pgy_stat_entry {
    const char *name;
    pgy_error_stat value;
} pgy_stat_entry;
typedef struct pgy_number_map {
    const pgy_number_entry *entries;
    size_t count; /**< 0 = the built-in default */
} pgy_number_map;

typedef enum pgy_compare_kind {
    PGY_COMPARE_SIMPLE,
    PGY_COMPARE_INDICES,
    PGY_COMPARE_L2,
    PGY_COMPARE_COSINE_SIMILARITY,
    PGY_COMPARE_PSNR,
    PGY_COMPARE_SNR,
    PGY_COMPARE_LPIPS,
    PGY_COMPARE_CALLBACK
} pgy_compare_kind;

struct pgy_verdicts;
/** The caller's comparison function: sets one verdict per output through pgy_verdicts_set. */
typedef pgy_status (*pgy_compare_callback)(struct pgy_verdicts *out, const pgy_iteration *a,
                                           const pgy_iteration *b, void *user, pgy_error *err);

typedef struct pgy_compare_options {
    size_t size;
    pgy_compare_kind kind;
    bool no_shape_check;
    bool fail_fast;
    pgy_number_map threshold; /**< of l2, cosine_similarity, psnr, snr and lpips; of indices: the
                                 index tolerance */
    pgy_number_map rtol, atol, quantile; /**< used by simple only */
    const pgy_stat_entry *stats;         /**< check_error_stat; used by simple only */
    size_t stat_count;
    bool infinities_compare_equal;
    const char *heatmap_dir, *error_plot_dir; /**< NULL = none */
    bool show_heatmaps, show_error_plots;     /**< open them with the desktop's viewer */
    pgy_compare_callback callback;            /**< PGY_COMPARE_CALLBACK */
    void *user;
    const char *label; /**< name of a callback; may be NULL */
} pgy_compare_options;
PGY_API pgy_compare_options pgy_compare_options_default(pgy_compare_kind kind);
/** "simple", "l2", ... @return false for an unknown name. Groups ("distance_metrics") exist on the
 * command line only. */
PGY_API bool pgy_compare_kind_from_name(pgy_compare_kind *out, const char *name);
PGY_API const char *pgy_compare_kind_label(pgy_compare_kind kind); /**< "L2 Norm" */
PGY_API PGY_MUST_CHECK pgy_status pgy_error_stat_from_name(pgy_error_stat *out, const char *name,
                                                           pgy_error *err);
PGY_API const char *pgy_error_stat_name(pgy_error_stat stat);

typedef struct pgy_compare pgy_compare; /**< a comparison function: options, checked and copied */
PGY_API PGY_MUST_CHECK pgy_status pgy_compare_create(pgy_compare **out,
                                                     const pgy_compare_options *options,
                                                     pgy_error *err);
PGY_API void pgy_compare_destroy(pgy_compare *c);

/* ---- Verdicts -------------------------------------------------------------------------------- */

/** Verdict on one output in one iteration, or averaged. */
typedef struct pgy_verdict {
    char *output;
    pgy_compare_kind kind; /**< INDICES and CALLBACK: plain true or false, no metrics */
    bool passed;
    bool has_metrics; /**< false: only `passed` is set, e.g. after a shape mismatch */
    bool verified;    /**< false: LPIPS that could not be computed */
    double max_absdiff, max_reldiff, mean_absdiff, mean_reldiff, median_absdiff, median_reldiff;
    bool has_quantile;
    double quantile_absdiff, quantile_reldiff;
    double metric;       /**< result of l2, cosine_similarity, psnr, snr or lpips */
    pgy_error_stat stat; /**< thresholds it was judged with */
    pgy_number atol, rtol, threshold;
} pgy_verdict;

typedef struct pgy_verdicts pgy_verdicts; /**< verdicts of one pair and iteration, by output name */
PGY_API size_t pgy_verdicts_count(const pgy_verdicts *v);
PGY_API const pgy_verdict *pgy_verdicts_at(const pgy_verdicts *v, size_t i);
PGY_API PGY_MUST_CHECK pgy_status pgy_verdicts_set(pgy_verdicts *v, const char *output, bool passed,
                                                   pgy_error *err);

/** All verdicts of one comparison function, by pair, iteration and output. */
typedef struct pgy_accuracy pgy_accuracy;
PGY_API pgy_compare_kind pgy_accuracy_kind(const pgy_accuracy *a);
PGY_API bool pgy_accuracy_is_average(const pgy_accuracy *a);
PGY_API size_t pgy_accuracy_pair_count(const pgy_accuracy *a);
PGY_API void pgy_accuracy_pair(const pgy_accuracy *a, size_t pair, const char **first,
                               const char **second);
/** Iterations whose verdicts were kept (see keep_verdicts); pgy_accuracy_stats counts all. */
PGY_API size_t pgy_accuracy_iteration_count(const pgy_accuracy *a, size_t pair);
PGY_API const pgy_verdicts *pgy_accuracy_at(const pgy_accuracy *a, size_t pair, size_t iteration);
PGY_API bool pgy_accuracy_passed(const pgy_accuracy *a);
PGY_API void pgy_accuracy_stats(const pgy_accuracy *a, size_t pair, size_t *passed,
                                size_t *total); /**< iterations, or outputs if averaged */

/** All verdicts: one pgy_accuracy for each comparison function. */
typedef struct pgy_accuracy_results pgy_accuracy_results;
PGY_API void pgy_accuracy_results_destroy(pgy_accuracy_results *r);
PGY_API size_t pgy_accuracy_results_count(const pgy_accuracy_results *r);
PGY_API const pgy_accuracy *pgy_accuracy_results_at(const pgy_accuracy_results *r, size_t i);
/** True if all verdicts passed and there is no other failure. */
PGY_API bool pgy_accuracy_results_passed(const pgy_accuracy_results *r);
/** Failures besides verdicts: outputs or iterations without a counterpart, comparisons that
 * compared nothing, results that are not valid. They count in pgy_accuracy_results_passed, and
 * files keep them; the original's files have none. */
PGY_API size_t pgy_accuracy_results_failure_count(const pgy_accuracy_results *r);
PGY_API const char *pgy_accuracy_results_failure(const pgy_accuracy_results *r, size_t i);
/** True if all verdicts passed, whatever other failures there are, as the original judges; true
 * without verdicts. */
PGY_API bool pgy_accuracy_results_verdicts_passed(const pgy_accuracy_results *r);
PGY_API PGY_MUST_CHECK pgy_status pgy_accuracy_results_load(pgy_accuracy_results **out,
                                                            const char *path, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_accuracy_results_save(const pgy_accuracy_results *r,
                                                            const char *path, pgy_error *err);
/** Judges saved metrics by other thresholds. Each comparison judges the first saved result with its
 * metric that no earlier comparison judged; the remaining results are dropped with an INFO line.
 * @param average judge the means over the iterations @return PGY_E_ARGUMENT if no comparison finds
 * a result */
PGY_API PGY_MUST_CHECK pgy_status pgy_accuracy_reevaluate(pgy_accuracy_results **out,
                                                          const pgy_accuracy_results *r,
                                                          const pgy_compare *const *comparisons,
                                                          size_t count, bool average,
                                                          pgy_error *err);
/** Logs the "Accuracy Summary" lines of every function and pair. */
PGY_API void pgy_accuracy_log_summary(const pgy_accuracy_results *r);

/* ---- Post-processing ------------------------------------------------------------------------- */

typedef struct pgy_top_k {
    const char *output; /**< "" = default for the others */
    int64_t k;
    bool has_axis;
    int64_t axis; /**< default: last */
} pgy_top_k;
typedef pgy_status (*pgy_postprocess_callback)(pgy_iteration *iteration, void *user,
                                               pgy_error *err);
typedef struct pgy_postprocess {
    size_t size;            /**< sizeof(pgy_postprocess) */
    const pgy_top_k *top_k; /**< used if top_k_count > 0 and `callback` is NULL */
    size_t top_k_count;
    pgy_postprocess_callback callback;
    void *user;
    const char *name; /**< name for the log; NULL: "TopKPostprocessFunc" */
} pgy_postprocess;
PGY_API PGY_MUST_CHECK pgy_status pgy_postprocess_apply(pgy_results *r, const pgy_postprocess *p,
                                                        pgy_error *err);

/* ---- Scripts --------------------------------------------------------------------------------- */

/** "file.py[:function]" with two iteration results -> {output: bool}, run in a helper Python
 * process. Default function compare_outputs. */
PGY_API PGY_MUST_CHECK pgy_status pgy_compare_script_create(pgy_compare **out, const char *script,
                                                            pgy_error *err);
/** "file.py[:function]" with an iteration result -> iteration result. Default function
 * postprocess_outputs. The script process lives until destroy. */
typedef struct pgy_postprocess_script pgy_postprocess_script;
PGY_API PGY_MUST_CHECK pgy_status pgy_postprocess_script_create(pgy_postprocess_script **out,
                                                                const char *script, pgy_error *err);
/** Valid until the script is destroyed. */
PGY_API const pgy_postprocess *pgy_postprocess_script_use(const pgy_postprocess_script *s);
PGY_API void pgy_postprocess_script_destroy(pgy_postprocess_script *s);

/* ---- Running and judging --------------------------------------------------------------------- */

/** How results are judged. docs/compare.md lists where this library's verdicts differ from the
 * original's. */
typedef struct pgy_judge_options {
    size_t size;
    const pgy_compare *const *comparisons; /**< default: simple with its defaults */
    size_t comparison_count;
    bool fail_fast;
    bool check_average;
    bool validate; /**< fail on NaN and infinity in any result */
    bool compat;   /**< give the original's verdict where this library's differs, and log that it
                      differs */
} pgy_judge_options;
PGY_API pgy_judge_options pgy_judge_options_default(void);

/** Compares each runner of all results with the next one, iteration by iteration. *passed is the
 * verdict; accuracy may be NULL. */
PGY_API PGY_MUST_CHECK pgy_status pgy_compare_accuracy(
    pgy_accuracy_results **accuracy, bool *passed, const pgy_results *const *results, size_t count,
    const pgy_judge_options *options, pgy_error *err);
PGY_API PGY_MUST_CHECK pgy_status pgy_validate(bool *valid, const pgy_results *r, bool check_nan,
                                               bool check_inf, bool fail_fast, pgy_error *err);

typedef struct pgy_run_options {
    size_t size;
    pgy_data_loader *loader;     /**< borrowed; NULL = generated data with defaults */
    bool sequential;             /**< finish one runner before the next begins */
    size_t warm_up;              /**< sequential only */
    bool use_subprocess;         /**< sequential only: one child process per runner */
    double subprocess_timeout_s; /**< 0 = none */
    const char *save_inputs, *save_outputs, *save_input_blob, *save_accuracy; /**< NULL = do not */
    const char *const *load_outputs; /**< results that are appended after those of the runners */
    size_t load_output_count;
    const pgy_postprocess *postprocess; /**< NULL = none */
    const pgy_judge_options *judge;     /**< NULL = defaults */
    const char *const *reports;         /**< "out.json", "out.xml" (JUnit), "out.sarif" */
    size_t report_count;
    const char *model_path;        /**< path for reports and messages; may be NULL */
    bool (*cancelled)(void *user); /**< asked between inferences; NULL = never */
    void *user;
    /** true, the default: pgy_run_report_accuracy has every verdict. false: it has only the counts
     * of pgy_accuracy_stats, so that memory does not grow with the number of iterations; verdicts
     * are kept even so if save_accuracy, reports or check_average need them. */
    bool keep_verdicts;
} pgy_run_options;
PGY_API pgy_run_options pgy_run_options_default(void);

/** The verdict of a run. */
typedef struct pgy_run_report pgy_run_report;
PGY_API PGY_MUST_CHECK pgy_status pgy_run(pgy_run_report **out, pgy_runner *const *runners,
                                          size_t runner_count, const pgy_run_options *options,
                                          pgy_error *err);
PGY_API bool pgy_run_report_passed(const pgy_run_report *r);
PGY_API size_t pgy_run_report_iteration_count(const pgy_run_report *r);
PGY_API const pgy_accuracy_results *pgy_run_report_accuracy(
    const pgy_run_report *r); /**< NULL if nothing was compared */
/** One line that says why the run failed; "" if it passed. */
PGY_API const char *pgy_run_report_reason(const pgy_run_report *r);
PGY_API void pgy_run_report_destroy(pgy_run_report *r);

/** Runs each runner over all data and gives all results, in memory or swapped out, like the
 * original's Comparator.run. */
PGY_API PGY_MUST_CHECK pgy_status pgy_infer_all(pgy_results **out, pgy_runner *const *runners,
                                                size_t runner_count, const pgy_run_options *options,
                                                pgy_error *err);

/* ---- Statistics and text --------------------------------------------------------------------- */

/** "mean=..., std-dev=..., ...". Free with pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_statistics_text(char **out, pgy_view v, pgy_error *err);
/** Histogram of ten bins over [low, high], or over the range of the values if low > high. "" if
 * there is none. */
PGY_API PGY_MUST_CHECK pgy_status pgy_histogram_text(char **out, pgy_view v, double low,
                                                     double high, pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
