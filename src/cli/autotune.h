/* SPDX-License-Identifier: Apache-2.0 */
/* The search for the set of plugins' nodes with which a model runs fastest on the built-in engine.
 */
#ifndef CLI_AUTOTUNE_H
#define CLI_AUTOTUNE_H

#include <polygraphy/timing_cache.h>

#include "base/str.h"
#include "cli/groups/plugins.h"

typedef struct autotune_figures {
    double latency_ms, throughput, memory_mb;
} autotune_figures;

/* A stretch that may be replaced. */
typedef struct autotune_place {
    const pgy_plugin_places *plugin;
    size_t index;
} autotune_place;

typedef struct autotune {
    pgy_model *model;
    const plugins_args *plugins;
    autotune_place *places;
    size_t count;
    pgy_timing_cache *cache; /* NULL: none */
    bool exhaustive;
    int64_t max_combinations;
    double threshold;
    /* What came out: */
    bool *best; /* one for each place */
    bool found; /* is it better than without any? */
    autotune_figures baseline, figures;
    double seconds, build_seconds;
    size_t tested, builds;
    pgy_model *best_model;
} autotune;

/* Flattens the places; the configuration must live on. */
pgy_status autotune_init(autotune *out, pgy_model *model, const plugins_args *plugins,
                         const pgy_plugin_config *config, pgy_error *err) PGY_MUST_CHECK;
void autotune_deinit(autotune *a);
pgy_status autotune_search(autotune *a, pgy_error *err) PGY_MUST_CHECK;
pgy_status autotune_report(const autotune *a, const char *path, pgy_error *err) PGY_MUST_CHECK;
/* "Latency: 1.23ms, Throughput: 4.56fps, Memory: 7.89MB" */
void autotune_append_figures(str *out, const autotune_figures *f);

#endif
