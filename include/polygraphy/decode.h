/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Decoding as a comparison: runs a decoder token by token in one or more runners, feeds its caches
 * back, and compares each step.
 *
 *     pgy_decode_options o = pgy_decode_options_default();
 *     o.steps = 64;
 *     pgy_decode_report *report = NULL;
 *     if (pgy_decode(&report, runners, 2, &o, &err)) ...  // could not run
 *     const pgy_decode_comparison *first = pgy_decode_report_first(report, 0);
 *     if (first) printf("step %zu differs\n", first->step);
 *     pgy_decode_report_destroy(report);
 *
 * Step 0 is the prefill: all tokens of the prompt at once. Each step after it reads one token. The
 * first runner is the reference: unless `free_running`, all runners read the tokens that it chooses
 * (the largest logit), so that step k has the same tokens everywhere. docs/decode.md tells how
 * inputs are recognised and how a step is judged.
 */
#ifndef POLYGRAPHY_DECODE_H
#define POLYGRAPHY_DECODE_H

#include <polygraphy/compare.h>
#include <polygraphy/noise.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Options -------------------------------------------------------------------------------- */

/** What an input or output is for, where its name does not tell.
 *
 * Roles of inputs: "tokens", "positions", "mask", "past_length", "total_length", "last_index"
 * (index of the last token), "use_cache" (false in the prefill), "constant"; of an output:
 * "logits". */
typedef struct pgy_decode_role {
    const char *name, *role;
} pgy_decode_role;

typedef struct pgy_decode_options {
    size_t size;  /**< sizeof(pgy_decode_options) */
    size_t steps; /**< single-token steps after the prefill, 1 to 1048576; default 64 */
    /** Token ids [batch, count] of any integer type, borrowed. The first `prompt_length` of a row
     * are the prompt, the others are read one by one before the runners' own choice. NULL: the
     * tokens in `data`, else random ones. */
    const pgy_tensor *ids;
    size_t prompt_length; /**< 0: all ids; of random ids: 8 */
    /** Pairs "input=output" of names with as many `*` on both sides: the output of a step is the
     * input of the next. None: found by name. */
    const char *const *caches;
    size_t cache_count;
    const pgy_decode_role *roles;
    size_t role_count;
    bool free_running; /**< each runner reads its own choice; steps are compared until they part */
    /** The first map has the values of constant inputs, and may have initial caches and a prompt.
     * NULL: constant inputs are generated with `random`, and caches are empty. */
    pgy_data_loader *data;
    const pgy_random_options *random; /**< seed, ranges, shapes of inputs; NULL: defaults */
    /** "tolerance" (NULL), or "floor": a step may differ by `floor_times` (NaN: 3) times the error
     * that rounding must cause in it, if it reads the reference's caches. "floor" needs `model`. */
    const char *judge;
    double floor_times;
    pgy_model *model;
    const pgy_floor_options *floor; /**< NULL: defaults */
    /** An element may differ by atol + rtol * (largest magnitude in the reference's tensor).
     * Without entry for a tensor: by its type, 1e-4 for float32, 5e-3 for float16, 4e-2 for
     * bfloat16, and atol 0. */
    pgy_number_map rtol, atol;
    /** Outputs that `save_outputs` of another decoding wrote: the reference, before the runners.
     * The prompt must be the same. Of several runners in the file the first counts. NULL: none. */
    const char *load_outputs;
    /** Feeds of the reference and outputs of all runners, a map for each step; NULL: not saved. */
    const char *save_inputs, *save_outputs;
    bool (*cancelled)(void *user); /**< asked before each inference; NULL: never */
    void *user;
    /** Each step writes its caches into memory of their own. Default: runners that can keep them in
     * one buffer, to which a step only adds its rows, do so (pgy_runner_keeps_caches). */
    bool copy_caches;
} pgy_decode_options;
PGY_API pgy_decode_options pgy_decode_options_default(void);

/** Reads token ids as int64 [rows, count]: lines of integers with blanks or commas between them, a
 * JSON array (of arrays), or a .npy file. All rows have the same length.
 * @return PGY_E_FORMAT naming the line and the word */
PGY_API PGY_MUST_CHECK pgy_status pgy_decode_ids_load(pgy_tensor **out, const char *path,
                                                      pgy_error *err);
/** The same from memory. @param name  for errors */
PGY_API PGY_MUST_CHECK pgy_status pgy_decode_ids_parse(pgy_tensor **out, const void *data,
                                                       size_t size_bytes, const char *name,
                                                       pgy_error *err);

/* ---- Running -------------------------------------------------------------------------------- */

typedef struct pgy_decode_report pgy_decode_report;

/** Runner 0 of the report is the reference: stored outputs if there are, else runners[0].
 * Activates the runners that are not active, decodes, and deactivates all.
 * @return PGY_E_ARGUMENT if the model is no decoder, an option is wrong or an id is not in the
 * vocabulary; PGY_E_SHAPE for a cache of a wrong length; else the status of a runner that failed */
PGY_API PGY_MUST_CHECK pgy_status pgy_decode(pgy_decode_report **out, pgy_runner *const *runners,
                                             size_t runner_count, const pgy_decode_options *options,
                                             pgy_error *err);
PGY_API void pgy_decode_report_destroy(pgy_decode_report *r); /**< NULL is fine */

/* ---- Results -------------------------------------------------------------------------------- */

/** The largest difference among the tensors of a group. Relative: divided by the largest magnitude
 * in the reference's tensor. */
typedef struct pgy_decode_difference {
    const char *tensor; /**< the one with the largest ratio of difference to what is allowed; NULL:
                           the group is empty */
    double max_abs, max_rel; /**< over all tensors of the group; infinite: NaN on a side */
    double error, allowed;   /**< relative difference of `tensor`, and what passes */
    double floor_times;      /**< judge "floor": difference in units of the floor; else NaN */
    bool differs;            /**< more than allowed, NaN, or different shapes */
} pgy_decode_difference;

/** One step of the reference and another runner. */
typedef struct pgy_decode_comparison {
    size_t step;
    bool compared; /**< false: the texts had parted before */
    bool differs;  /**< any of the three groups differs */
    pgy_decode_difference logits, caches, others;
    uint64_t positions; /**< rows of logits: batch * tokens */
    uint64_t same_top1; /**< rows with the same largest logit */
    double same_top5;   /**< mean share of the reference's five largest logits that the other's have
                         */
    /** Largest relative difference that the step makes if it reads the reference's caches, and the
     * tensor; measured at the first step that differs. NaN, NULL: not measured. */
    double made;
    const char *made_tensor;
    bool makes; /**< `made` is more than allowed: the step starts the error */
} pgy_decode_comparison;

typedef struct pgy_decode_step {
    size_t step;
    int64_t past;   /**< tokens in the caches before the step */
    int64_t length; /**< tokens that it reads */
} pgy_decode_step;

/** Wall times of one runner's steps, preparation for new shapes included. Percentiles are those of
 * single-token steps, interpolated. */
typedef struct pgy_decode_latency {
    double prefill_ms;
    size_t count; /**< single-token steps */
    double total_ms, mean_ms, min_ms, median_ms, p90_ms, p95_ms, p99_ms, max_ms;
} pgy_decode_latency;

/** True if no step differs, no text parts, nothing is missing, and no logits have NaN. One runner
 * alone passes if it has no NaN. */
PGY_API bool pgy_decode_report_passed(const pgy_decode_report *r);
/** One line that says why the verdict is no; "" if it passed. */
PGY_API const char *pgy_decode_report_reason(const pgy_decode_report *r);
PGY_API size_t pgy_decode_report_failure_count(const pgy_decode_report *r);
PGY_API const char *pgy_decode_report_failure(const pgy_decode_report *r, size_t i);

PGY_API size_t pgy_decode_report_runner_count(const pgy_decode_report *r);
PGY_API const char *pgy_decode_report_runner_name(const pgy_decode_report *r, size_t runner);
/** Steps that ran, the prefill included. */
PGY_API size_t pgy_decode_report_step_count(const pgy_decode_report *r);
PGY_API const pgy_decode_step *pgy_decode_report_step(const pgy_decode_report *r, size_t step);
/** Comparison of runner 0 with runner `pair` + 1; NULL: no such pair or step. */
PGY_API const pgy_decode_comparison *pgy_decode_report_at(const pgy_decode_report *r, size_t pair,
                                                          size_t step);
/** The first step of a pair that differs; NULL: none. */
PGY_API const pgy_decode_comparison *pgy_decode_report_first(const pgy_decode_report *r,
                                                             size_t pair);
/** The first step after which a row of the two runners chose other tokens; *row may be NULL.
 * @return false: they chose the same */
PGY_API bool pgy_decode_report_parting(size_t *step, size_t *row, const pgy_decode_report *r,
                                       size_t pair);
PGY_API size_t pgy_decode_report_batch(const pgy_decode_report *r);
/** The prompt of a row. */
PGY_API const int64_t *pgy_decode_report_prompt(size_t *count, const pgy_decode_report *r,
                                                size_t row);
/** The largest logit's id after a step. -1: no such runner, row or step */
PGY_API int64_t pgy_decode_report_choice(const pgy_decode_report *r, size_t runner, size_t row,
                                         size_t step);
/** Wall time of a step in nanoseconds; -1: no such runner or step. */
PGY_API int64_t pgy_decode_report_time_ns(const pgy_decode_report *r, size_t runner, size_t step);
/** Of that time, what the runner took to prepare for new shapes. 0: nothing was prepared; -1: no
 * such runner or step, or unknown. */
PGY_API int64_t pgy_decode_report_preparation_ns(const pgy_decode_report *r, size_t runner,
                                                 size_t step);
/** Caches of a model's pairs, and how many of them the runner kept in place in the last step, so
 * that none of their rows was copied. */
PGY_API size_t pgy_decode_report_cache_count(const pgy_decode_report *r);
PGY_API size_t pgy_decode_report_kept_caches(const pgy_decode_report *r, size_t runner);
/** @return PGY_E_ARGUMENT: no such runner */
PGY_API PGY_MUST_CHECK pgy_status pgy_decode_report_latency(pgy_decode_latency *out,
                                                            const pgy_decode_report *r,
                                                            size_t runner, pgy_error *err);
/** Text for people. Free with pgy_text_free. @param all  every step instead of a choice */
PGY_API PGY_MUST_CHECK pgy_status pgy_decode_report_text(char **out, const pgy_decode_report *r,
                                                         bool all, pgy_error *err);
/** Saves the report as JSON (docs/decode.md); the file appears whole or not at all.
 * @param model  name of the model in it; may be NULL */
PGY_API PGY_MUST_CHECK pgy_status pgy_decode_report_save(const pgy_decode_report *r,
                                                         const char *path, const char *model,
                                                         pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
