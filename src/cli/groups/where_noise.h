/* SPDX-License-Identifier: Apache-2.0 */
/* The questions of `where` that need one model and no second runner: NaN, headroom, noise floor. */
#ifndef CLI_GROUPS_WHERE_NOISE_H
#define CLI_GROUPS_WHERE_NOISE_H

#include <polygraphy/noise.h>

#include "cli/command.h"

typedef struct where_noise_args {
    bool nan, headroom, floor, all;
    const char *assume_text, *sums_text;
    int64_t draws, max_steps;
    pgy_dtype assume, sums;
} where_noise_args;
extern const option_group GROUP_WHERE_NOISE;

/* Does the line ask one of these questions? */
bool where_noise_asked(const args *line);
/* Refuses options of the noise floor that have no effect. asked: one of these questions; judge:
 * --judge floor */
pgy_status where_noise_check(const args *line, bool asked, bool judge,
                             pgy_error *err) PGY_MUST_CHECK;
uint64_t where_noise_steps(const args *line);
pgy_floor_options where_noise_floor(const args *line);
/* Answers them for the model of the line, and saves the report to `json` (NULL: not saved). *passed:
 * --nan found nothing. */
pgy_status where_noise_run(args *line, const char *json, bool *passed,
                           pgy_error *err) PGY_MUST_CHECK;

#endif
