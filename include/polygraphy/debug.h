/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Debugging by trials: a session makes one candidate after the other, asks whether it is good or
 * bad, keeps what each trial left behind, and records the verdicts so that it can be continued.
 *
 *     const char *const command[] = {"./check.sh", "candidate.onnx"};
 *     const pgy_debug_check check = {.size = sizeof check, .command = command, .command_count = 2};
 *     pgy_debug_options o = pgy_debug_options_default();
 *     o.check = &check;
 *     o.save_replay = "replay.json";
 *     pgy_debug_session *session = NULL;
 *     pgy_debug_summary summary;
 *     pgy_status st = pgy_debug_session_create(&session, &o, &err);
 *     if (!st) st = pgy_debug_session_run(&summary, session, &search, &err);
 *     pgy_debug_session_destroy(session);
 *
 * A trial that a replay has a verdict for is not run again.
 */
#ifndef POLYGRAPHY_DEBUG_H
#define POLYGRAPHY_DEBUG_H

#include <polygraphy/build_config.h>
#include <polygraphy/onnx.h>
#include <polygraphy/runner.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The check ------------------------------------------------------------------------------- */

/** When the output of the check command is logged. */
typedef enum pgy_debug_show {
    PGY_DEBUG_SHOW_FAILED, /**< when the trial failed */
    PGY_DEBUG_SHOW_ALL,
    PGY_DEBUG_SHOW_NONE
} pgy_debug_show;

/** Decides whether a candidate is good. A command that exits with 0 says it is, unless the members
 * below decide otherwise: first pass_codes, then fail_codes, then fail_patterns. */
typedef struct pgy_debug_check {
    size_t size;                /**< sizeof(pgy_debug_check) */
    const char *const *command; /**< words of the command, run without a shell; NULL: use `judge` */
    size_t command_count;
    const int64_t
        *fail_codes; /**< only these exit codes fail; with patterns, one must match, too */
    size_t fail_code_count;
    const int64_t *pass_codes; /**< these exit codes pass, whatever the output */
    size_t pass_code_count;
    const char *const
        *fail_patterns; /**< regular expressions (RE2's syntax); a match in the output fails */
    size_t fail_pattern_count;
    pgy_debug_show show;
    double timeout_s; /**< the command is killed and the session ends after it; 0: no limit */
    /** Judges if there is no command. `candidate` is the path of the candidate file; NULL: trials
     * make no file. */
    pgy_status (*judge)(bool *passed, const char *candidate, void *user, pgy_error *err);
    void *user;
} pgy_debug_check;

/* ---- The session ----------------------------------------------------------------------------- */

typedef struct pgy_debug_options {
    size_t size;                  /**< sizeof(pgy_debug_options) */
    const pgy_debug_check *check; /**< required */
    const char *const *artifacts; /**< files and folders moved after each check */
    size_t artifact_count;
    const char *artifact_dir; /**< gets folders good and bad; default polygraphy_artifacts */
    const char *candidate;    /**< file that each trial makes; NULL: trials make no file. It must
                                   not exist when the session begins */
    bool keep_candidate;      /**< do not remove the candidate after its check */
    const char *info;         /**< JSON file about the trial, for the check; NULL: none */
    const char *load_replay;  /**< verdicts of an earlier session; NULL: none */
    const char *save_replay;  /**< where to save the verdicts after each trial; NULL: nowhere */
} pgy_debug_options;

PGY_API pgy_debug_options pgy_debug_options_default(void);

/** A number that a search attaches to a trial; the replay stores it. */
typedef struct pgy_debug_number {
    const char *name;
    int64_t value;
} pgy_debug_number;

enum { PGY_DEBUG_NUMBERS = 4 };

/** One trial. `state` belongs to the search. */
typedef struct pgy_debug_trial {
    int64_t index; /**< number of the trial, from 0 in each phase */
    bool passed;
    pgy_debug_number state[PGY_DEBUG_NUMBERS];
    size_t state_count;
} pgy_debug_trial;

/** Makes the candidates of a session and decides which one comes next. */
typedef struct pgy_debug_search {
    size_t size;       /**< sizeof(pgy_debug_search) */
    const char *phase; /**< "outputs", when a session has several phases; NULL: one phase */
    /** Makes the candidate. *made false: it could not be made, and counts as failed without a
     * check; the function has logged why. It may set the trial's state. NULL: nothing to make. */
    pgy_status (*make)(bool *made, pgy_debug_trial *trial, void *user, pgy_error *err);
    /** Called with the verdict of each trial; returns true if another trial follows. */
    bool (*next)(const pgy_debug_trial *trial, void *user);
    /** Estimates the number of remaining trials, this one included; NULL: unknown. */
    int64_t (*remaining)(void *user);
    void *user;
} pgy_debug_search;

typedef struct pgy_debug_summary {
    size_t trials, passed;
} pgy_debug_summary;

typedef struct pgy_debug_session pgy_debug_session;

/** Copies the options and loads the replay. PGY_E_ARGUMENT if the candidate exists already. */
PGY_API pgy_status pgy_debug_session_create(pgy_debug_session **out,
                                            const pgy_debug_options *options,
                                            pgy_error *err) PGY_MUST_CHECK;
PGY_API void pgy_debug_session_destroy(pgy_debug_session *s);
/** The path of the candidate file; NULL: trials make no file. */
PGY_API const char *pgy_debug_session_candidate(const pgy_debug_session *s);

/** Runs trials until the search ends. On an error or PGY_E_CANCELLED the replay holds all trials
 * that were judged. */
PGY_API pgy_status pgy_debug_session_run(pgy_debug_summary *out, pgy_debug_session *s,
                                         const pgy_debug_search *search,
                                         pgy_error *err) PGY_MUST_CHECK;

/** When a repeated trial ends. */
typedef enum pgy_debug_end {
    PGY_DEBUG_UNTIL_GOOD, /**< after the first good trial */
    PGY_DEBUG_UNTIL_BAD,
    PGY_DEBUG_UNTIL_COUNT
} pgy_debug_end;

/** Repeats one trial. `make` as in pgy_debug_search; NULL: each trial only runs the check. */
PGY_API pgy_status pgy_debug_repeat(pgy_debug_summary *out, pgy_debug_session *s, pgy_debug_end end,
                                    int64_t count,
                                    pgy_status (*make)(bool *made, pgy_debug_trial *trial,
                                                       void *user, pgy_error *err),
                                    void *user, pgy_error *err) PGY_MUST_CHECK;

/* ---- Reduction ------------------------------------------------------------------------------- */

typedef struct pgy_debug_reduce_options {
    size_t size;       /**< sizeof(pgy_debug_reduce_options) */
    bool linear;       /**< try every node; else bisect */
    bool keep_outputs; /**< skip the phase that moves the outputs towards the inputs */
    bool keep_inputs;  /**< skip the phase that moves the inputs towards the outputs */
    bool want_good;    /**< also return a model of about the same size that passes */
    bool record_types; /**< take types and shapes of all new inputs and outputs from `record` */
    /** Runs the model once and returns the values of the named tensors: for types and shapes that
     * the model does not state, and for branches that become constants. NULL: pgy_record on
     * generated data. */
    pgy_status (*record)(pgy_tensor_map **out, pgy_model *model, const char *const *names,
                         size_t count, void *user, pgy_error *err);
    /** Writes a candidate to the session's candidate file. NULL: it is saved with its weights
     * inside, in one file if it has fewer than 2 GB. */
    pgy_status (*save)(pgy_model *model, void *user, pgy_error *err);
    void *user;
    /** Called with each smaller model that fails, before the next trial, so that an interrupted
     * search leaves its best. NULL: nothing. */
    pgy_status (*improved)(pgy_model *bad, void *user, pgy_error *err);
} pgy_debug_reduce_options;

typedef struct pgy_debug_reduction {
    pgy_model *bad;  /**< the smallest model found that fails; the whole model if none did */
    pgy_model *good; /**< a candidate that passed its check, or NULL */
    size_t original_nodes, bad_nodes;
    size_t failed; /**< trials that failed; 0: no reduced model fails */
} pgy_debug_reduction;

/** Searches a small part of a model that still fails the session's check. First it moves the
 * outputs of the model to those of an earlier node, then its inputs to those of a later one. Each
 * trial saves a candidate. Shapes should have been inferred. */
PGY_API pgy_status pgy_debug_reduce(pgy_debug_reduction *out, pgy_debug_session *s,
                                    pgy_model *model, const pgy_debug_reduce_options *options,
                                    pgy_error *err) PGY_MUST_CHECK;
PGY_API void pgy_debug_reduction_free(pgy_debug_reduction *r);

/* ---- Errors of tensors ------------------------------------------------------------------------ */

typedef struct pgy_debug_tensor_error {
    const char *name;
    double error; /**< norm of the difference over the norm of the reference's values, the largest
                       of all samples; infinite where one of both has a NaN */
} pgy_debug_tensor_error;

typedef struct pgy_debug_errors {
    const pgy_debug_tensor_error *items; /**< tensors of floats, in the order of the model */
    size_t count;
    void *internal;
} pgy_debug_errors;

typedef struct pgy_debug_errors_options {
    size_t size;                               /**< sizeof(pgy_debug_errors_options) */
    const char *runner;                        /**< backend that is measured; NULL: "trt" */
    const pgy_backend_options *runner_options; /**< borrowed; NULL: its defaults */
    const char *reference;                     /**< backend; NULL: "opref" */
    pgy_data_loader *data;                     /**< borrowed; NULL: generated data */
} pgy_debug_errors_options;

/** Runs a model with all its tensors as outputs, in a runner and in a reference, and measures how
 * far the runner's are from the reference's. */
PGY_API pgy_status pgy_debug_errors_measure(pgy_debug_errors *out, pgy_model *model,
                                            const pgy_debug_errors_options *options,
                                            pgy_error *err) PGY_MUST_CHECK;
PGY_API void pgy_debug_errors_free(pgy_debug_errors *e);

/* ---- Precision of layers --------------------------------------------------------------------- */

typedef struct pgy_debug_precision_options {
    size_t size;     /**< sizeof(pgy_debug_precision_options) */
    bool linear;     /**< try 0, 1, 2 ... layers until a trial passes; else bisect */
    bool reverse;    /**< the last layers compute in `dtype`; else the first */
    pgy_dtype dtype; /**< the higher precision: PGY_F32, or PGY_F16; NONE: PGY_F32 */
    /** How plans are built: tf32, fp16 or int8 must be set, and fp16 if `dtype` is PGY_F16. Each
     * trial begins with its layer_types, and then adds the layers of the trial. */
    const pgy_build_config *config;
    /** Builds a plan and saves it to `path`. NULL: pgy_plan_build. */
    pgy_status (*build)(const char *path, pgy_model *model, const pgy_build_config *config,
                        void *user, pgy_error *err);
    void *user;
    /** Errors of tensors, for example those that pgy_debug_errors_measure found for `config`: the
     * layers with the largest errors come first, those without any last. Not with `reverse`. NULL:
     * layers are taken in the order of the model. */
    const pgy_debug_tensor_error *errors;
    size_t error_count;
    size_t limit; /**< most layers that get `dtype`; 0: all */
} pgy_debug_precision_options;

typedef struct pgy_debug_precision {
    bool found;               /**< a trial passed; else the other members but layer_count are 0 */
    size_t layer_count;       /**< layers of the model */
    size_t count;             /**< fewest first, last or worst layers with which a trial passed */
    const char *const *names; /**< those of them that compute in the higher precision: pass them as
                                   pgy_build_config.layer_types */
    size_t name_count;
    void *internal;
} pgy_debug_precision;

/** Searches how many layers at the begin or end of a model must compute in a higher precision for
 * the session's check to pass. Each trial builds a plan into the session's candidate file; a build
 * that fails counts as a failed trial. Layers whose types the model states keep them: constants,
 * casts, quantization, If, Loop and Scan; and so do layers with an output of another type than
 * float32, float16 and int8. */
PGY_API pgy_status pgy_debug_precision_find(pgy_debug_precision *out, pgy_debug_session *s,
                                            pgy_model *model,
                                            const pgy_debug_precision_options *options,
                                            pgy_error *err) PGY_MUST_CHECK;
PGY_API void pgy_debug_precision_free(pgy_debug_precision *p);

#ifdef __cplusplus
}
#endif
#endif
