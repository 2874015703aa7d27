/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine's builds measure with: a timing cache, and how long they may take. */
#ifndef ENGINE_TACTICS_TIMING_H
#define ENGINE_TACTICS_TIMING_H

#include <polygraphy/build_config.h>

#include "engine/tactics/timing_cache.h"

/* One build at a time. */
typedef struct timing {
    const pgy_build_config *config;
    int64_t level; /* builder optimisation level */
    pgy_timing_cache *cache, *own;
    bool changed;    /* the cache has times that no file has */
    size_t threads;  /* that will run it */
    int64_t left_ns; /* for measuring, of all builds together */
    char device[128];
    size_t measured, known, unmeasured; /* uses of operators: in this build */
} timing;

/* With the cache of the config, or that in its file. The config is borrowed. */
pgy_status timing_create(timing **out, const pgy_build_config *config,
                         pgy_error *err) PGY_MUST_CHECK;
void timing_destroy(timing *t); /* NULL is fine */
/* Merges the times into the config's file, if it names one. */
pgy_status timing_save(timing *t, pgy_error *err) PGY_MUST_CHECK;
/* The key of a use: layouts are those that it has. `op` and `domain`: of its operator; `kernels`: a
 * hash of the kernels that could be asked, since with others the choice may be another. */
bool timing_key(pgy_timing_key *out, const timing *t, const kernel_problem *u, const char *domain,
                const char *op, uint64_t kernels);

#endif
