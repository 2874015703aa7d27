/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes that must not outlive this one. */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#include <polygraphy/base.h>

#include <sys/types.h>

/* A tie sends a child a signal when this process ends, even by kill -9. The child inherits the
 * descriptor `far`, under any number; a forked child closes its copy of `near`. Both are -1 where
 * the system cannot do this; then tying does nothing. */
typedef struct child_tie {
    int near, far;
} child_tie;
void child_tie_open(child_tie *t);
void child_tie_to(child_tie *t, pid_t child,
                  int number);      /* Call it after the start; it closes `far` here. */
void child_tie_close(child_tie *t); /* Call it after the child has ended. */

/* Registers a child, to which child_end_all sends the signal `number`: SIGKILL for other programs,
 * SIGTERM for forks of this one that called file_install_signal_cleanup. The table has a fixed
 * size; children that do not fit are not registered. */
void child_register(pid_t child, int number);
/* Like child_register, for a child that leads a process group: the signal goes to all of it. */
void child_register_group(pid_t child, int number);
/* Waits until the child ends, unregisters it and stores its status. With `wait` false it does not
 * wait, and returns false while the child runs. */
bool child_reap(pid_t child, bool wait, int *status);
/* Ends a forked child: first by SIGTERM, so that it can remove its temporary files, and shortly
 * after by SIGKILL if it still runs. The caller must reap it. */
void child_end(pid_t child);
/* Ends a child that leads a process group, and all of its group: first by `number`. */
void child_end_group(pid_t child, int number);
void child_end_all(void); /* async-signal-safe */

#endif
