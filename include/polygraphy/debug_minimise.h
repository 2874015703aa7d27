/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Judges candidates in this process, and minimises a failing model by delta debugging.
 *
 *     pgy_debug_judge_options how = {.size = sizeof how, .runner = "trt", .reference = "onnxrt"};
 *     pgy_debug_judge *judge = NULL;
 *     if (pgy_debug_judge_create(&judge, &how, &err)) ...
 *     const pgy_debug_minimise_options o = {
 *         .size = sizeof o, .judge = judge, .on = PGY_DEBUG_MISMATCH};
 *     pgy_debug_minimum found;
 *     if (pgy_debug_minimise(&found, session, model, feeds, count, &o, &err)) ...
 *     if (pgy_debug_repro_save("repro", &found, NULL, &err)) ...
 *     pgy_debug_minimum_free(&found);
 *     pgy_debug_judge_destroy(judge);
 *
 * A candidate gets the tensors that it no longer computes as inputs, with the values that the whole
 * model had there. Each sample is compared with the reference's result for the same sample.
 */
#ifndef POLYGRAPHY_DEBUG_MINIMISE_H
#define POLYGRAPHY_DEBUG_MINIMISE_H

#include <polygraphy/compare.h>
#include <polygraphy/debug.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Judging --------------------------------------------------------------------------------- */

typedef enum pgy_debug_outcome {
    PGY_DEBUG_PASSED,
    PGY_DEBUG_BUILD_FAIL, /**< the runner cannot load or build the model */
    PGY_DEBUG_RUN_FAIL,   /**< the runner built it, but an inference failed */
    PGY_DEBUG_MISMATCH,   /**< an output differs from the reference's, or nothing can be compared */
    PGY_DEBUG_NAN,        /**< an output has a NaN where the reference has none */
    PGY_DEBUG_CRASH,      /**< the runner's process was ended by a signal */
    PGY_DEBUG_UNJUDGED    /**< the reference cannot run the model */
} pgy_debug_outcome;

/** "pass", "build-fail", "run-fail", "mismatch", "nan", "crash", "unjudged" */
PGY_API const char *pgy_debug_outcome_name(pgy_debug_outcome outcome);
PGY_API bool pgy_debug_outcome_from_name(pgy_debug_outcome *out, const char *name);

typedef struct pgy_debug_finding {
    pgy_debug_outcome outcome;
    char text[512]; /**< one line: what failed or differs; "" if it passed */
} pgy_debug_finding;

typedef struct pgy_debug_judge_options {
    size_t size;                               /**< sizeof(pgy_debug_judge_options) */
    const char *runner;                        /**< backend that is judged; NULL: "trt" */
    const pgy_backend_options *runner_options; /**< borrowed; NULL: its defaults */
    const char *reference;                     /**< backend to compare with; NULL: none */
    const pgy_results *golden;      /**< borrowed results to compare with instead: iteration i is
                                         that of sample i. Outputs that it lacks are not compared */
    const pgy_judge_options *judge; /**< borrowed; NULL: defaults */
    /** Words of a command that runs the model in a process of its own, so that a crash does not
     * end this one: the program `polygraphy` with the word "run". The judge adds the model and the
     * options --<runner>, --load-inputs and --save-outputs. NULL: run in this process. */
    const char *const *isolate;
    size_t isolate_count;
    const char *const *isolate_options; /**< words added behind those; NULL: none */
    size_t isolate_option_count;
    double timeout_s; /**< an isolated run that takes longer fails; 0: no limit */
} pgy_debug_judge_options;

typedef struct pgy_debug_judge pgy_debug_judge;

/** @return PGY_E_NOT_FOUND for an unknown backend */
PGY_API pgy_status pgy_debug_judge_create(pgy_debug_judge **out,
                                          const pgy_debug_judge_options *options,
                                          pgy_error *err) PGY_MUST_CHECK;
PGY_API void pgy_debug_judge_destroy(pgy_debug_judge *j);
/** Runs a model on all samples. A model that fails is a finding, not an error.
 * @param expected the reference's results, which the caller destroys; may be NULL, and receives
 * NULL without a reference */
PGY_API pgy_status pgy_debug_judge_run(pgy_debug_finding *out, pgy_results **expected,
                                       pgy_debug_judge *j, pgy_model *model,
                                       const pgy_tensor_map *const *feeds, size_t count,
                                       pgy_error *err) PGY_MUST_CHECK;

/* ---- Minimising ------------------------------------------------------------------------------ */

/** A failing model with its inputs. */
typedef struct pgy_debug_minimum {
    pgy_model *model;
    pgy_tensor_map **feeds; /**< one per sample */
    size_t feed_count;
    size_t original_nodes, nodes;
    size_t evaluations; /**< runs of the judge */
    pgy_debug_finding finding;
} pgy_debug_minimum;

typedef struct pgy_debug_minimise_options {
    size_t size;            /**< sizeof(pgy_debug_minimise_options) */
    pgy_debug_judge *judge; /**< borrowed; NULL: `test` judges */
    pgy_debug_outcome on;   /**< the failure to keep; used with `judge` */
    /** Judges a candidate instead of `judge`, for callers with a criterion or an isolation of their
     * own. It fills in the finding; a candidate fails as the whole model does if the outcome is
     * `on`. */
    pgy_status (*test)(pgy_debug_finding *out, pgy_model *model, const pgy_tensor_map *const *feeds,
                       size_t count, void *user, pgy_error *err);
    bool nodes_only; /**< keep inputs, shapes and attributes of the remaining nodes */
    bool capsule;    /**< replace float weights by random ones of equal mean, deviation and range,
                          where the model still fails with them */
    /** Called with each smaller model that fails, so that an interrupted search leaves its best. */
    pgy_status (*improved)(const pgy_debug_minimum *best, void *user, pgy_error *err);
    void *user;
    const char *record_backend; /**< runs the whole model once for the values of its tensors; NULL:
                                     "onnxrt", or "opref" if that cannot */
} pgy_debug_minimise_options;

/** Searches a smallest part of the model that still fails in the same way: delta debugging over
 * nodes, then inputs, shapes and attributes. Trials are logged and kept in the replay of `s`, whose
 * check is not used. @return PGY_E_ARGUMENT if the whole model does not fail so */
PGY_API pgy_status pgy_debug_minimise(pgy_debug_minimum *out, pgy_debug_session *s,
                                      pgy_model *model, const pgy_tensor_map *const *feeds,
                                      size_t feed_count, const pgy_debug_minimise_options *options,
                                      pgy_error *err) PGY_MUST_CHECK;
PGY_API void pgy_debug_minimum_free(pgy_debug_minimum *m);

/* ---- The result folder ----------------------------------------------------------------------- */

typedef struct pgy_debug_repro_options {
    size_t size;                  /**< sizeof(pgy_debug_repro_options) */
    pgy_debug_judge *judge;       /**< borrowed; gives the expected outputs; NULL: none */
    const char *runner;           /**< backend named in the script; NULL: "trt" */
    const char *const *arguments; /**< words added to the `run` of the script: tolerances, options
                                       of the runner */
    size_t argument_count;
    const char *source; /**< the original model, for the report; may be NULL */
} pgy_debug_repro_options;

/** Writes model.onnx, inputs.json, expected.json (with a reference), repro.sh and report.txt into a
 * folder, which is created. @return PGY_E_ARGUMENT if the folder exists and is not empty */
PGY_API pgy_status pgy_debug_repro_save(const char *folder, const pgy_debug_minimum *m,
                                        const pgy_debug_repro_options *options,
                                        pgy_error *err) PGY_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
