/* SPDX-License-Identifier: Apache-2.0 */
/* The state that an engine's builds measure with: a timing cache and a time budget. */
#ifndef ENGINE_TACTICS_TIMING_H
#define ENGINE_TACTICS_TIMING_H

#include <polygraphy/build_config.h>

#include "engine/tactics/timing_cache.h"

/* Only one build may use it at a time. */
typedef struct timing {
    const pgy_build_config *config;
    int64_t level; /* builder optimisation level */
    pgy_timing_cache *cache, *own;
    bool changed;    /* the cache has times that are in no file */
    size_t threads;  /* number of threads that will run the program */
    int64_t left_ns; /* time left for measuring, shared by all builds */
    char device[128];
    size_t measured, known, unmeasured; /* numbers of problems in the current build */
} timing;

/* Uses the config's timing cache, or else loads the timing cache file that the config names. The
 * config is borrowed. */
pgy_status timing_create(timing **out, const pgy_build_config *config,
                         pgy_error *err) PGY_MUST_CHECK;
void timing_destroy(timing *t); /* NULL is fine */
/* Merges the times into the config's file, if it names one. */
pgy_status timing_save(timing *t, pgy_error *err) PGY_MUST_CHECK;
/* Makes the cache key of a problem with its present layouts. `op` and `domain` name its operator.
 * `kernels`: a hash of all kernels considered, since with other kernels another one may be the
 * fastest. */
bool timing_key(pgy_timing_key *out, const timing *t, const kernel_problem *u, const char *domain,
                const char *op, uint64_t kernels);

#endif
