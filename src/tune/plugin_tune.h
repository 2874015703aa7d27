/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the search for the fastest set of plugin nodes. */
#ifndef TUNE_PLUGIN_TUNE_H
#define TUNE_PLUGIN_TUNE_H

#include <polygraphy/plugin_tune.h>

#include "base/str.h"

struct pgy_plugin_tuning {
    pgy_plugin_tune_options options; /* with defaults; its pointers are valid during the search */
    pgy_model *model;                /* borrowed, during the search */
    pgy_plugin_tuning_place *places;
    size_t count;
    pgy_plugin_tuning_summary summary;
    pgy_model *best_model; /* NULL: no set is better than the model itself */
};

/* "Latency: 1.23ms, Throughput: 4.56fps, Memory: 7.89MB" */
void tuning_append_figures(str *out, const pgy_plugin_figures *f);

#endif
