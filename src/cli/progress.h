/* SPDX-License-Identifier: Apache-2.0 */
/* Progress of calls that take more than a second: one status line on a terminal; elsewhere, with
 * -v, a log line every ten seconds. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <polygraphy/base.h>

/* Shows the library's progress reports from now on. */
void progress_install(void);
/* "Folding nodes 12 of 80, 34 s, about 50 s left". The estimate is missing if the total is unknown,
 * and in the first seconds. */
void progress_text(char *out, size_t size, const pgy_progress *p);

/* Progress of a run: the library calls `cancelled` between inferences, and the number of calls
 * tells how many iterations are done. */
typedef struct run_progress {
    size_t asks_per_iteration; /* calls of `cancelled` in one iteration; 0: unknown */
    size_t asks;
} run_progress;
/* The callback for pgy_run_options.cancelled, with a run_progress as user, between progress_begin
 * and progress_end. Counts its calls, and returns whether the user wants to stop. */
bool run_progress_cancelled(void *user);

#endif
