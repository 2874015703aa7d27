/* SPDX-License-Identifier: Apache-2.0 */
/* What the program says of calls that take more than a second: one passing line on a terminal,
 * elsewhere a line of the log every ten seconds with -v. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <polygraphy/base.h>

/* Shows what the library reports, from now on. */
void progress_install(void);
/* "Folding nodes 12 of 80, 34 s, about 50 s left". The estimate is missing where nothing is known
 * of the whole, and for the first seconds. */
void progress_text(char *out, size_t size, const pgy_progress *p);

/* How far a run is: the question whether to stop is asked between inferences. */
typedef struct run_progress {
    size_t asks_per_iteration; /* 0: unknown */
    size_t asks;
} run_progress;
/* For pgy_run_options.cancelled, with a run_progress as user, between progress_begin and
 * progress_end: counts, and answers whether the user wants to stop. */
bool run_progress_cancelled(void *user);

#endif
