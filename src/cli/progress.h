/* SPDX-License-Identifier: Apache-2.0 */
/* What a long run is doing, as one passing line on a terminal. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct progress {
    size_t asks_per_iteration; /* how often a run asks whether to stop; 0 = unknown */
    size_t iterations;         /* in all; 0 = unknown */
    bool off;                  /* nothing is shown */
    int64_t start_ns, shown_ns;
    size_t asks;
} progress;

/* Times in nanoseconds. Text for the moment `now_ns`; false while there is nothing (new) to show:
 * in the first second, and more than four times a second. */
bool progress_text(char *out, size_t size, progress *p, int64_t now_ns);
/* For pgy_run_options.cancelled, with a progress (or NULL) as user: shows it, and answers whether
 * the user wants to stop. */
bool progress_cancelled(void *user);
/* Takes the line away. */
void progress_end(const progress *p);

#endif
