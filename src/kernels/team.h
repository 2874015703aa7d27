/* SPDX-License-Identifier: Apache-2.0 */
/* A team of threads that run a list of steps together. The caller is thread 0. A waiting thread
 * spins for a while and then sleeps. */
#ifndef KERNELS_TEAM_H
#define KERNELS_TEAM_H

#include <polygraphy/base.h>

typedef struct team team;

/* Makes a team of `size` threads, the caller included; 0 means cpu_count(). A team of 1 starts no
 * thread. */
pgy_status team_create(team **out, size_t size, pgy_error *err) PGY_MUST_CHECK;
void team_destroy(team *t); /* `t` may be NULL; no task may be running */
size_t team_size(const team *t);
/* Calls task(thread, size, user) on the caller, as thread 0, and on each other thread that comes in
 * time, and returns when all rounds are complete and no thread looks at `user` any more. Not
 * reentrant: one caller at a time. `is_long`: it pays to wake threads that sleep. */
void team_run(team *t, bool is_long, void (*task)(size_t thread, size_t size, void *user),
              void *user);

/* A task is a list of rounds, the same in all threads. A round begins when the ones before it are
 * complete, and sees what was written in them. It is complete when all of its parts are done;
 * nobody waits for a thread that has taken none. */

/* Begins a round that thread 0 runs alone, or continues it if it was the last. Returns true to
 * thread 0; the others go on to the next round that is shared. */
bool team_alone(team *t, size_t thread);
/* Begins a round of numbered parts, at most 65535 for each thread. False: the task is over, and the
 * thread must return without a look at its data. Never false for thread 0. */
bool team_share_begin(team *t, size_t thread) PGY_MUST_CHECK;
/* Gives this thread one of `parts` parts that nobody has: of its own range first, then what others
 * have not begun, so a slow thread delays nobody. The parts that it got before count as done.
 * False: there is none left. Call it until then. */
bool team_share_next(team *t, size_t thread, uint32_t parts, uint32_t *part);

#endif
