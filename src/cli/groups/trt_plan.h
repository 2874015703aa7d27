/* SPDX-License-Identifier: Apache-2.0 */
/* Building a plan by the options of --trt. */
#ifndef CLI_GROUPS_TRT_PLAN_H
#define CLI_GROUPS_TRT_PLAN_H

#include <polygraphy/build_config.h>
#include <polygraphy/loader.h>

#include "cli/args/parser.h"

/* Builds the model of `loader`, which it destroys, and saves the plan to `path`. */
pgy_status trt_save_plan(pgy_loader *loader, args *line, const char *path,
                         pgy_error *err) PGY_MUST_CHECK;
/* The same with a configuration that the caller made. */
pgy_status trt_save_plan_of(pgy_loader *loader, const pgy_build_config *config, const char *path,
                            pgy_error *err) PGY_MUST_CHECK;

#endif
