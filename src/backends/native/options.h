/* SPDX-License-Identifier: Apache-2.0 */
/* The options of --trt for running, and the log text about a build configuration. */
#ifndef BACKENDS_NATIVE_OPTIONS_H
#define BACKENDS_NATIVE_OPTIONS_H

#include <polygraphy/engine_runner.h>
#include <polygraphy/runtime.h>

#include "engine/build/profile.h"

typedef struct native_options {
    const pgy_build_config *config; /* first member, as PGY_BACKEND_TAKES_CONFIG demands; NULL:
                                       defaults */
    int64_t profile;                /* index of the profile; -1: any that the shapes fit */
    const char *allocation_strategy;
    const char *save_engine; /* path to write the plan to on activation; NULL: nowhere */
} native_options;

extern const pgy_option NATIVE_OPTIONS[];
void native_options_defaults(void *options);

/* Checks the options and chooses one of `count` profiles, or PROFILE_ANY without
 * --optimization-profile. */
pgy_status native_options_check(size_t *profile, const native_options *o, size_t count,
                                pgy_error *err) PGY_MUST_CHECK;
/* The allocation strategy: when the engine allocates memory. */
pgy_allocation native_options_allocation(const native_options *o);
/* The original's two messages before building: profiles and configuration. */
void native_log_build(const pgy_build_config *c, const profile_set *profiles);

#endif
