/* SPDX-License-Identifier: Apache-2.0 */
/* --ranks: each runner of the line becomes one of several ranks, with a model and a device each. */
#ifndef CLI_RUN_RANKS_H
#define CLI_RUN_RANKS_H

#include <polygraphy/build_config.h>
#include <polygraphy/communicator.h>
#include <polygraphy/graph.h>

#include "cli/groups/runners.h"

typedef struct ranks_args {
    int64_t ranks; /* 1: not asked for */
} ranks_args;
extern const option_group GROUP_RANKS;

/* What the ranks of a line use. Zeroed: none. */
typedef struct run_ranks {
    size_t count;
    pgy_graph *graphs[PGY_MAX_RANKS];
    pgy_model *models[PGY_MAX_RANKS];
    const char *const *parts; /* names of outputs that differ between ranks */
    size_t part_count;
    pgy_timing_cache *times; /* shared, so that all ranks choose the same kernels */
    pgy_build_config config; /* of the rank whose runner is made */
    char device[32];
    const char *device_name; /* points to `device` */
} run_ranks;

bool ranks_are_asked(const args *line);
/* Refuses other options that do not go with --ranks. */
pgy_status run_ranks_check(const args *line, pgy_error *err) PGY_MUST_CHECK;
/* Loads the model of each rank. Free it with run_ranks_release, also on failure. */
pgy_status run_ranks_load(run_ranks *r, const args *line, pgy_error *err) PGY_MUST_CHECK;
void run_ranks_release(run_ranks *r);
/* The configuration of rank i: rank i is on GPU i, or as many further as the line's device is. */
pgy_status run_ranks_config(const pgy_build_config **out, run_ranks *r, size_t rank,
                            const pgy_build_config *config, pgy_error *err) PGY_MUST_CHECK;
/* Creates runners as runners_create does, each of all ranks. *current is the rank whose runner is
 * being made. */
pgy_status run_ranks_create(pgy_runner ***out, size_t *count, const args *line,
                            const runner_maker *maker, const run_ranks *r, size_t *current,
                            pgy_error *err) PGY_MUST_CHECK;

#endif
