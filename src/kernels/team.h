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
/* Calls task(thread, size, user) on every thread and returns when all have returned. Not reentrant:
 * one caller at a time. */
void team_run(team *t, void (*task)(size_t thread, size_t size, void *user), void *user);
/* Inside a task: waits until all threads have called it. Writes before the barrier are visible
 * behind it. */
void team_barrier(team *t, size_t thread);

/* Inside a task: the threads share numbered parts. Each takes those of its own range first, then
 * what others have not begun, so a slow thread delays nobody. All threads begin the same shares in
 * the same order, with a barrier between two of them. */
void team_share_begin(team *t, size_t thread);
/* Gives this thread one of `parts` parts that nobody has. False: there is none left. */
bool team_share_next(team *t, size_t thread, uint32_t parts, uint32_t *part);

#endif
