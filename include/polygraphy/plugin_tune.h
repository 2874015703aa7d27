/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The search for the set of plugins' nodes with which a model runs fastest on the built-in engine.
 *
 *     const pgy_plugin_tune_options o = {.size = sizeof o, .dir = "plugins"};
 *     pgy_plugin_tuning *tuning = NULL;
 *     if (pgy_plugin_match(&places, "plugins", &names, model, NULL, &err)) ...
 *     if (pgy_plugin_tune(&tuning, model, places, &o, &err)) ...
 *     pgy_model *fastest = pgy_plugin_tuning_model(tuning);       // NULL: the model as it is
 *     pgy_plugin_tuning_destroy(tuning);
 *
 * Each set of places becomes a model, is built and measured. Greedy: one place after the other,
 * kept if the model gets better. Exhaustive: all sets of one place, of two, and so on. A set that
 * cannot be built is left out, with a warning in the log. Results are not compared: see pgy_run.
 */
#ifndef POLYGRAPHY_PLUGIN_TUNE_H
#define POLYGRAPHY_PLUGIN_TUNE_H

#include <polygraphy/plugin.h>
#include <polygraphy/timing_cache.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pgy_plugin_tuning pgy_plugin_tuning;

typedef struct pgy_plugin_tune_options {
    size_t size;              /**< sizeof(pgy_plugin_tune_options) */
    const char *dir;          /**< folder of the plugins */
    pgy_timing_cache *cache;  /**< measured times of kernels, read and added to; NULL: none */
    bool exhaustive;          /**< try all sets; else greedy */
    int64_t max_combinations; /**< exhaustive: most sets that are tried, the empty one included;
                                   0: 1000 */
    double threshold; /**< exhaustive: stop when the latency has fallen by more than this part of
                           the latency without plugins; negative: 0.1 */
} pgy_plugin_tune_options;

/** Of one inference, on generated data. */
typedef struct pgy_plugin_figures {
    double latency_ms;
    double throughput; /**< inferences per second */
    double memory_mb;  /**< of inputs and outputs, in MiB */
} pgy_plugin_figures;

typedef struct pgy_plugin_tuning_summary {
    bool found;                  /**< some set is better than none */
    pgy_plugin_figures baseline; /**< without plugins */
    pgy_plugin_figures best;     /**< with the best set; the baseline if none is better */
    double seconds;              /**< of the search */
    double build_seconds;        /**< of that, for building engines */
    size_t tested, builds;       /**< sets tried, engines built */
    size_t replaced;             /**< places in the best set */
} pgy_plugin_tuning_summary;

/** A place that may be replaced. */
typedef struct pgy_plugin_tuning_place {
    const pgy_plugin_places *plugin; /**< of the configuration */
    size_t index;                    /**< of the instance in it */
    bool chosen;                     /**< it is in the best set */
} pgy_plugin_tuning_place;

/** Searches. @param config what pgy_plugin_match found; it must outlive *out
 *  @param options borrowed for this call
 *  @return what pgy_engine_build returns for the model without plugins */
PGY_API PGY_MUST_CHECK pgy_status pgy_plugin_tune(pgy_plugin_tuning **out, pgy_model *model,
                                                  const pgy_plugin_config *config,
                                                  const pgy_plugin_tune_options *options,
                                                  pgy_error *err);
PGY_API void pgy_plugin_tuning_destroy(pgy_plugin_tuning *t); /**< NULL is fine */
PGY_API const pgy_plugin_tuning_summary *pgy_plugin_tuning_summarize(const pgy_plugin_tuning *t);
/** The model with the best set; NULL: no set is better than none. Belongs to the tuning. */
PGY_API pgy_model *pgy_plugin_tuning_model(const pgy_plugin_tuning *t);
PGY_API size_t pgy_plugin_tuning_count(const pgy_plugin_tuning *t);
PGY_API const pgy_plugin_tuning_place *pgy_plugin_tuning_at(const pgy_plugin_tuning *t, size_t i);

/** The report of the original. Texts are freed with pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_plugin_tuning_text(char **out, const pgy_plugin_tuning *t,
                                                         pgy_error *err);
/** The summary, and the places with the operator and whether they are chosen. */
PGY_API PGY_MUST_CHECK pgy_status pgy_plugin_tuning_json(char **out, const pgy_plugin_tuning *t,
                                                         pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
