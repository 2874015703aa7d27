/* SPDX-License-Identifier: Apache-2.0 */
/* The interface between the driver (run.c) and the comparison functions: verdict containers, and
 * judging of one iteration. */
#ifndef COMPARE_JUDGE_H
#define COMPARE_JUDGE_H

#include <polygraphy/compare.h>

#include "base/str.h"

/* ---- Containers (accuracy.c, verdict.c) ----------------------------------------------------- */
pgy_status accuracy_results_create(pgy_accuracy_results **out, pgy_error *err) PGY_MUST_CHECK;
/* Keeps a reason to fail that no output's verdict contains. Returns false when out of memory. */
bool accuracy_add_failure(pgy_accuracy_results *r, const char *text) PGY_MUST_CHECK;
/* Adds an entry for a comparison function. */
pgy_status accuracy_add(pgy_accuracy **out, pgy_accuracy_results *r, pgy_compare_kind kind,
                        bool average, pgy_error *err) PGY_MUST_CHECK;
/* Adds a pair and returns its position: pairs with equal names stay apart. accuracy_add_iteration
 * appends an empty iteration to a pair and returns its verdicts for the caller to fill. */
pgy_status accuracy_add_pair(size_t *pair, pgy_accuracy *a, const char *first, const char *second,
                             pgy_error *err) PGY_MUST_CHECK;
pgy_status accuracy_add_iteration(pgy_verdicts **out, pgy_accuracy *a, size_t pair,
                                  pgy_error *err) PGY_MUST_CHECK;
/* Reduces the last iteration of a pair to pass counts, in every function. Every function must have
 * that iteration. */
void accuracy_forget_iteration(pgy_accuracy_results *r, size_t pair);
/* Counts the iterations that pass in every function, and all iterations. The pairs of all functions
 * must have the same positions, and there must be a function. */
void accuracy_joint_stats(const pgy_accuracy_results *r, size_t pair, size_t *passed,
                          size_t *total);
/* PGY_E_ARGUMENT if iterations were forgotten. For callers that need the verdicts themselves. */
pgy_status accuracy_expect_all(const pgy_accuracy_results *r, pgy_error *err) PGY_MUST_CHECK;
/* Copies a verdict into the list, where it replaces the one with the same output name. */
pgy_status verdicts_put(pgy_verdicts *v, const pgy_verdict *verdict, pgy_error *err) PGY_MUST_CHECK;
/* The verdict on an output; NULL: none. */
pgy_verdict *verdicts_find(const pgy_verdicts *v, const char *output);
bool verdicts_all_passed(const pgy_verdicts *v);
/* Sets `passed` from metrics and thresholds. Leaves verdicts without metrics as they are, and
 * elementwise ones, because metrics do not determine them. */
void verdict_judge(pgy_verdict *v);

/* ---- One comparison (pairing.c, simple.c, indices.c, metric.c) ------------------------------ */
pgy_compare_kind compare_kind(const pgy_compare *c);
/* Can the function's metrics be averaged over iterations? If not, *why is the reason. */
bool compare_can_average(const pgy_compare *c, const char **why);
/* What makes a comparison incomplete, summed over calls. Only the first few names are kept, for a
 * reason of one line; the log has all. */
typedef struct compare_gaps {
    size_t unmatched; /* outputs of either side that were not compared */
    size_t foreign;   /* verdicts of a user's callback on names that no output has */
    str unmatched_names, foreign_names; /* "'z' of B, 'q' of A" */
} compare_gaps;
void compare_gaps_deinit(compare_gaps *gaps);
/* Compares all outputs of two iterations with one function, logs as the original does, and fills
 * `out`. Outputs of either side that were not compared go to *gaps, and to the log as an ERROR
 * (with compat as a WARNING). @return an error only where the original ends with a critical error
 */
pgy_status compare_iteration(pgy_verdicts *out, compare_gaps *gaps, const pgy_compare *c,
                             const pgy_iteration *a, const pgy_iteration *b, bool compat,
                             pgy_error *err) PGY_MUST_CHECK;
/* Number of elements in all outputs of an iteration. */
size_t iteration_element_count(const pgy_iteration *it);
/* Logs statistics of both sides, after all functions have compared the iteration, for every output
 * in one of the `count` verdict lists that compare_iteration filled. Values and histogram are
 * logged at INFO for an output that failed in any list, else at VERBOSE. */
pgy_status compare_log_outputs(const pgy_iteration *a, const pgy_iteration *b,
                               const pgy_verdicts *const *verdicts, size_t count, bool compat,
                               pgy_error *err) PGY_MUST_CHECK;
/* Verdicts over the means of all iterations of a pair (check_average). @return PGY_E_ARGUMENT when
 * an iteration has no metrics */
pgy_status accuracy_average(pgy_verdicts *out, const pgy_accuracy *a, size_t pair,
                            pgy_error *err) PGY_MUST_CHECK;
/* Logs the "Accuracy Summary" of one pair of one function (check accuracy). */
void accuracy_log_summary_pair(const pgy_accuracy *a, size_t pair);
/* Logs the summary of one pair over all functions of `r`, whose pairs have the same positions
 * (run). An iteration, or an output if averaged, passes if it passes in every function. @return
 * PGY_E_ARGUMENT as accuracy_average */
pgy_status accuracy_log_joint_summary(const pgy_accuracy_results *r, size_t pair,
                                      pgy_error *err) PGY_MUST_CHECK;
/* The comparison frees its callback's `user` when it is destroyed. */
void compare_own_user(pgy_compare *c, void (*free_user)(void *user));
/* An empty list of verdicts outside a pgy_accuracy; free it with verdicts_destroy. */
pgy_status verdicts_create(pgy_verdicts **out, pgy_error *err) PGY_MUST_CHECK;
void verdicts_destroy(pgy_verdicts *v);

/* ---- Validation of one iteration (validate.c); prefix is "" or "Iteration 3 | " ------------- */
pgy_status validate_iteration(bool *valid, const pgy_iteration *it, const char *prefix,
                              bool check_nan, bool check_inf, bool fail_fast,
                              pgy_error *err) PGY_MUST_CHECK;

/* ---- Post-processing of one iteration (postprocess.c) --------------------------------------- */
pgy_status postprocess_iteration(pgy_iteration *it, const pgy_postprocess *p,
                                 pgy_error *err) PGY_MUST_CHECK;

/* ---- Results with one iteration, for streaming (results.c) ---------------------------------- */
/* Moves all runners of `more` behind those of `r`. */
pgy_status results_append(pgy_results *r, pgy_results *more, pgy_error *err) PGY_MUST_CHECK;
pgy_iteration *results_mutable_at(pgy_results *r, size_t runner, size_t iteration);

/* ---- Machine-readable reports (report.c) ---------------------------------------------------- */
typedef struct run_facts {
    const char *model_path, *reason;
    bool passed, compared;
    size_t iteration_count;
    int64_t duration_ns;
    const pgy_accuracy_results *accuracy;
    const char *const *runner_names;
    size_t runner_count;
    const struct run_times *times; /* of each runner */
} run_facts;
/* The extension selects the format: .json, .xml (JUnit), .sarif. Others give PGY_E_ARGUMENT. */
pgy_status report_check_path(const char *path, pgy_error *err) PGY_MUST_CHECK;
pgy_status report_write(const char *path, const run_facts *facts, pgy_error *err) PGY_MUST_CHECK;

#endif
