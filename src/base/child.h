/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes that must not outlive this one. */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#include <polygraphy/base.h>

#include <sys/types.h>

/* A tie sends a child a signal when this process ends, in whatever way (kill -9 as well). `far` is
 * the end that the child inherits, under any number; a forked child closes its copy of `near`. -1:
 * the system has no such thing, and tying does nothing. */
typedef struct child_tie {
    int near, far;
} child_tie;
void child_tie_open(child_tie *t);
void child_tie_to(child_tie *t, pid_t child, int number); /* after start; closes `far` here */
void child_tie_close(child_tie *t);                       /* after the child has ended */

/* child_end_all sends `number` to what is registered: SIGKILL to other programs, SIGTERM to forks
 * of this one that called file_install_signal_cleanup. Best effort: the table has a fixed size. */
void child_register(pid_t child, int number);
/* Waits for the end, forgets the child and takes its status. With `wait` false: false while it
 * runs. */
bool child_reap(pid_t child, bool wait, int *status);
/* Ends a forked child: SIGTERM, so that it removes its temporaries; SIGKILL if that does not help
 * within a moment. It is still to be reaped. */
void child_end(pid_t child);
void child_end_all(void); /* async-signal-safe */

#endif
