/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Plugin tuning: searches the set of plugin replacements with which a model runs fastest on the
 * built-in engine.
 *
 *     const pgy_plugin_tune_options o = {.size = sizeof o, .dir = "plugins"};
 *     pgy_plugin_tuning *tuning = NULL;
 *     if (pgy_plugin_match(&places, "plugins", &names, model, NULL, &err)) ...
 *     if (pgy_plugin_tune(&tuning, model, places, &o, &err)) ...
 *     pgy_model *fastest = pgy_plugin_tuning_model(tuning);       // NULL: the model as it is
 *     pgy_plugin_tuning_destroy(tuning);
 *
 * The search replaces each set of places in the model, builds it and measures it. Greedy: it tries
 * one place after the other and keeps each that improves the model. Exhaustive: it tries all sets
 * of one place, of two, and so on. A set that cannot be built is skipped, with a warning in the
 * log. The outputs of the models are not compared: use pgy_run for that.
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
    int64_t max_combinations; /**< exhaustive: limit for the number of sets, the empty one included;
                                 0: 1000 */
    double threshold; /**< exhaustive: stop when latency has fallen by more than this fraction of
                         the latency without plugins; negative: 0.1 */
} pgy_plugin_tune_options;

/** Measurements of one inference on generated data. */
typedef struct pgy_plugin_figures {
    double latency_ms; /**< time of the fastest of at least 10 runs */
    double throughput; /**< inferences per second */
    double memory_mb;  /**< memory of inputs and outputs, in MiB */
} pgy_plugin_figures;

typedef struct pgy_plugin_tuning_summary {
    bool found;                  /**< some set is better than no plugins */
    pgy_plugin_figures baseline; /**< without plugins */
    pgy_plugin_figures best;     /**< figures of the best set; the baseline if no set is better */
    double seconds;              /**< duration of the search */
    double build_seconds;        /**< part of `seconds` spent on building engines */
    size_t tested, builds;       /**< sets tried, engines built */
    size_t replaced;             /**< places in the best set */
} pgy_plugin_tuning_summary;

/** A place that may be replaced. */
typedef struct pgy_plugin_tuning_place {
    const pgy_plugin_places *plugin; /**< an entry of the configuration */
    size_t index;                    /**< index of the instance in `plugin` */
    bool chosen;                     /**< the best set contains it */
} pgy_plugin_tuning_place;

/** Runs the search. @param config the result of pgy_plugin_match; it must outlive *out
 * @param options borrowed for this call
 * @return what pgy_engine_build returns for the model without plugins */
PGY_API PGY_MUST_CHECK pgy_status pgy_plugin_tune(pgy_plugin_tuning **out, pgy_model *model,
                                                  const pgy_plugin_config *config,
                                                  const pgy_plugin_tune_options *options,
                                                  pgy_error *err);
PGY_API void pgy_plugin_tuning_destroy(pgy_plugin_tuning *t); /**< NULL is fine */
PGY_API const pgy_plugin_tuning_summary *pgy_plugin_tuning_summarize(const pgy_plugin_tuning *t);
/** The model with the best set, owned by the tuning; NULL if no set is better than no plugins. */
PGY_API pgy_model *pgy_plugin_tuning_model(const pgy_plugin_tuning *t);
PGY_API size_t pgy_plugin_tuning_count(const pgy_plugin_tuning *t);
PGY_API const pgy_plugin_tuning_place *pgy_plugin_tuning_at(const pgy_plugin_tuning *t, size_t i);

/** Writes the original's report. Free with pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_plugin_tuning_text(char **out, const pgy_plugin_tuning *t,
                                                         pgy_error *err);
/** Writes the summary, and for each place its operator and whether it is chosen. Free with
 * pgy_text_free. */
PGY_API PGY_MUST_CHECK pgy_status pgy_plugin_tuning_json(char **out, const pgy_plugin_tuning *t,
                                                         pgy_error *err);

#ifdef __cplusplus
}
#endif
#endif
