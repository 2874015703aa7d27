/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Route search: builds a model with many settings of the builder, each in a process of its own, and
 * shows which settings make it faster, more accurate or smaller.
 *
 * A knob is one setting of the builder. A route gives values to knobs: "-level=5 -fp16=on". An
 * expression is a route in which knobs may have several values: "-level=[2|5] -fp16=[off|on]".
 *
 *     pgy_route_options o = pgy_route_options_default();
 *     pgy_route_search *search = NULL;
 *     o.expression = "-level=[2|5] -fp16=[off|on]";
 *     o.cache = "routes.json";
 *     o.command = words;                  // a program and its arguments, and their number
 *     o.command_count = count;
 *     if (pgy_route_search_create(&search, &o, &err)) ...
 *     st = pgy_route_search_run(search, &err);
 *     if (!pgy_route_search_text(&text, search, &err)) puts(text);
 *     pgy_route_search_destroy(search);
 *
 * Each candidate runs the command with three more words: --setBuildRoute=ROUTE, --saveEngine=FILE
 * and --tuningResultFile=FILE. The command builds and measures, saves its plan, and writes its
 * figures with pgy_route_answer_save. `trtexec` is such a command. A candidate that crashes or
 * fails is a result like any other.
 */
#ifndef POLYGRAPHY_ROUTE_H
#define POLYGRAPHY_ROUTE_H

#include <polygraphy/build_config.h>
#include <polygraphy/perf.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Knobs ---------------------------------------------------------------------------------- */

typedef struct pgy_route_knob {
    const char *name;    /**< "level"; "pass:" and "layer:" are followed by the name of one */
    const char *values;  /**< "[0|1|2|3|4|5]", or in words */
    const char *initial; /**< the builder's default */
    const char *help;
} pgy_route_knob;
/** Gives knob number i, counted from 0. @return false if there are fewer */
PGY_API bool pgy_route_knob_at(pgy_route_knob *out, size_t i);
/** Describes the knobs, every pass included, in the JSON of trtexec --helpBuildRoute. Free with
 * pgy_text_free. @param name of one knob, with or without the dash; NULL: all
 * @return PGY_E_NOT_FOUND: there is no such knob */
PGY_API PGY_MUST_CHECK pgy_status pgy_route_knobs_json(char **out, const char *name,
                                                       pgy_error *err);

/* ---- Routes --------------------------------------------------------------------------------- */

typedef struct pgy_route pgy_route;
/** Reads a route. @return PGY_E_ARGUMENT: the text says where it is wrong */
PGY_API PGY_MUST_CHECK pgy_status pgy_route_parse(pgy_route **out, const char *text,
                                                  pgy_error *err);
PGY_API void pgy_route_destroy(pgy_route *r); /**< NULL is fine */
/** Sets the fields that the route names. Texts and arrays that they then refer to belong to the
 * route, which must outlive the use of the configuration.
 * @param config       NULL: leave out its knobs
 * @param calibration  NULL: leave out its knobs */
PGY_API PGY_MUST_CHECK pgy_status pgy_route_apply(pgy_route *r, pgy_build_config *config,
                                                  pgy_calibration *calibration, pgy_error *err);

/* ---- Spaces --------------------------------------------------------------------------------- */

typedef enum pgy_route_strategy {
    PGY_ROUTE_FAST, /**< the baseline, and one change at a time */
    PGY_ROUTE_FULL, /**< the baseline, and all combinations */
    PGY_ROUTE_MIXED /**< FAST, then all combinations of the knobs that made a route faster */
} pgy_route_strategy;

typedef struct pgy_route_space pgy_route_space;
/** Reads an expression. "-pass:*=[on|off]" stands for all passes. The baseline is the route in
 * which every knob with several values keeps the value that `config` and `calibration` give it.
 * @param config       NULL: the builder's defaults
 * @param calibration  NULL: the defaults */
PGY_API PGY_MUST_CHECK pgy_status pgy_route_space_create(pgy_route_space **out,
                                                         const char *expression,
                                                         const pgy_build_config *config,
                                                         const pgy_calibration *calibration,
                                                         pgy_error *err);
PGY_API void pgy_route_space_destroy(pgy_route_space *s); /**< NULL is fine */
/** Lists routes, the baseline first; the list belongs to the space.
 * @param strategy  FAST or FULL
 * @return PGY_E_UNSUPPORTED: more than 100000 routes */
PGY_API PGY_MUST_CHECK pgy_status pgy_route_space_list(const char *const **routes, size_t *count,
                                                       pgy_route_space *s,
                                                       pgy_route_strategy strategy, pgy_error *err);

/* ---- Results -------------------------------------------------------------------------------- */

typedef struct pgy_route_loss {
    const char *name; /**< of an output */
    double loss;      /**< NaN: undefined */
} pgy_route_loss;

/** What a candidate's process says. */
typedef struct pgy_route_answer {
    size_t size;                  /**< sizeof(pgy_route_answer) */
    double gpu_time_ms;           /**< median time of a run */
    bool accuracy_failed;         /**< a loss reached the threshold, or could not be computed */
    const pgy_route_loss *losses; /**< against given references; none: they are computed against
                                     the outputs of the baseline */
    size_t loss_count;
    const pgy_tensor_map *outputs; /**< of one run on data that is the same for all candidates;
                                      needed without losses */
} pgy_route_answer;
/** Writes a candidate's figures, and its outputs into a second file (PATH.npz). */
PGY_API PGY_MUST_CHECK pgy_status pgy_route_answer_save(const char *path,
                                                        const pgy_route_answer *answer,
                                                        pgy_error *err);

/** A candidate. Texts belong to the search. */
typedef struct pgy_route_result {
    size_t iteration; /**< 0 is the baseline */
    const char *route;
    const char *error;    /**< why it failed; "" if it did not */
    bool crash;           /**< its process was ended by a signal */
    bool accuracy_failed; /**< its losses are too large */
    double gpu_time_ms;   /**< NaN: not known */
    double loss;          /**< the worst of all outputs; NaN: undefined or not known */
    const pgy_route_loss *losses;
    size_t loss_count;
    uint64_t plan_bytes; /**< 0: not known */
    bool on_front;       /**< on the Pareto front: no other route is at least as good in time, loss
                            and size, and better in one of them */
} pgy_route_result;

/* ---- The search ----------------------------------------------------------------------------- */

/** All texts and arrays must outlive the search. */
typedef struct pgy_route_options {
    size_t size; /**< sizeof(pgy_route_options) */
    const char *expression;
    pgy_route_strategy strategy;
    const pgy_build_config *config;     /**< for pgy_route_space_create */
    const pgy_calibration *calibration; /**< the same */
    const char *cache;                  /**< file of the results, one JSON object per line; default
                                           "best_config.json" */
    bool resume; /**< take the results in `cache`; else the cache must not exist, or it is kept as
                    CACHE.old */
    double timeout_s;           /**< start no candidate later than this; negative, the default: no
                                   limit */
    const char *const *command; /**< program and arguments of a candidate */
    size_t command_count;
    const char *save_plan;   /**< file for the plan of the fastest route; NULL: none */
    bool keep_all_plans;     /**< keep the plan of iteration N as save_plan.iterN */
    bool has_references;     /**< candidates compare with references themselves */
    pgy_perf_loss_kind loss; /**< default PGY_LOSS_LINF */
    double atol, rtol;       /**< of PGY_LOSS_L0; default 1e-5 */
    double threshold;        /**< a loss of at least this against the baseline fails; 0: none */
    /** Stored in the cache, for whoever goes on with the search: */
    const char *command_line;
    const char *const *arguments;
    size_t argument_count;
    const char *model; /**< file: a cache is of no use if it has changed; NULL: none */
    /** Called before and after each candidate; NULL: not called. `result` is NULL if the candidate
     * was interrupted. `output` is what its process printed. */
    void (*begin)(size_t iteration, const char *route, void *user);
    void (*end)(size_t iteration, const char *route, const pgy_route_result *result,
                const char *output, void *user);
    void *user;
} pgy_route_options;
PGY_API pgy_route_options pgy_route_options_default(void);

typedef struct pgy_route_search pgy_route_search;
/** Checks the expression, and reads the cache if the search resumes one.
 * @return PGY_E_ARGUMENT: the cache belongs to another search, model or version */
PGY_API PGY_MUST_CHECK pgy_status pgy_route_search_create(pgy_route_search **out,
                                                          const pgy_route_options *options,
                                                          pgy_error *err);
/** Tries all routes that have no result yet. The cache is complete after each of them.
 * @return PGY_E_CANCELLED after pgy_cancel: the results so far count; PGY_E_BACKEND: no route gave
 * an engine that passes */
PGY_API PGY_MUST_CHECK pgy_status pgy_route_search_run(pgy_route_search *s, pgy_error *err);
PGY_API void pgy_route_search_destroy(pgy_route_search *s);       /**< NULL is fine */
PGY_API size_t pgy_route_search_count(const pgy_route_search *s); /**< number of results */
PGY_API const pgy_route_result *pgy_route_search_at(const pgy_route_search *s, size_t i);
/** The fastest route that passes; NULL: none. */
PGY_API const pgy_route_result *pgy_route_search_fastest(const pgy_route_search *s);
/** Routes that were not tried, because of timeout_s or pgy_cancel. */
PGY_API size_t pgy_route_search_left(const pgy_route_search *s);
/** Writes a table of all results, the fastest first. Free with pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_route_search_text(char **out, const pgy_route_search *s,
                                                        pgy_error *err);
/** Reads the arguments that a search stored in its cache, for pgy_route_options.resume. Free with
 * pgy_route_arguments_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_route_arguments_load(char ***out, size_t *count,
                                                           const char *cache, pgy_error *err);
PGY_API void pgy_route_arguments_free(char **arguments, size_t count);

#ifdef __cplusplus
}
#endif
#endif
