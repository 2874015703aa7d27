/* SPDX-License-Identifier: Apache-2.0 */
/* Ctrl-C and kill. The first signal asks the library to stop (pgy_cancel). A program that has not
 * ended a moment later, in whatever loop or system call it is, is ended by a timer; so is one that
 * gets a second signal. Each way removes temporaries, ends child processes, and dies of the signal,
 * so that a shell's loop ends, too. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <stdbool.h>

/* Handles SIGINT, SIGTERM and SIGHUP, but for those that were ignored (nohup, background jobs).
 * Writing to a closed pipe or beyond the limit of file sizes becomes an error of write(). */
void interrupt_install(void);
bool interrupt_requested(void);
/* Dies of the signal, if there was one. */
void interrupt_finish(void);

#endif
