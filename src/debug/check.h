/* SPDX-License-Identifier: Apache-2.0 */
/* Judges a candidate, by a command or a function. */
#ifndef DEBUG_CHECK_H
#define DEBUG_CHECK_H

#include <polygraphy/debug.h>

#include "ops/class_regex.h"

/* A check that is ready to run. Zeroed: nothing. */
typedef struct debug_check {
    pgy_debug_check options; /* borrowed */
    regex **patterns;
} debug_check;

/* Compiles the patterns. `options` must outlive it. */
pgy_status debug_check_init(debug_check *c, const pgy_debug_check *options,
                            pgy_error *err) PGY_MUST_CHECK;
void debug_check_deinit(debug_check *c);
pgy_status debug_check_run(bool *passed, const debug_check *c, const char *candidate,
                           pgy_error *err) PGY_MUST_CHECK;

#endif
