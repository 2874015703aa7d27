/* SPDX-License-Identifier: Apache-2.0 */
/* Ctrl-C and kill. The first signal asks the library to stop (pgy_cancel). A timer ends the program
 * if it is still running shortly afterwards, even in a loop or a system call, unless a loop that
 * hears the request by itself has something to hand out (cancel_hold); a second signal ends it at
 * once. In all cases the program removes temporary files, ends child processes, and dies of
 * the signal, so that a shell's loop ends, too. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <stdbool.h>

/* Handles SIGINT, SIGTERM and SIGHUP, except those that are ignored (nohup, background jobs).
 * Writing to a closed pipe, or beyond the file size limit, becomes an error of write(). */
void interrupt_install(void);
bool interrupt_requested(void);
/* Dies of the signal if one arrived. */
void interrupt_finish(void);

#endif
