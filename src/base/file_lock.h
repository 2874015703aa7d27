/* SPDX-License-Identifier: Apache-2.0 */
/* A lock beside a file that several processes and threads change. */
#ifndef BASE_FILE_LOCK_H
#define BASE_FILE_LOCK_H

#include <polygraphy/base.h>

typedef struct file_lock file_lock;
/* Waits for a record lock (fcntl) on the whole of `<path>.lock`, as the Python tool takes it. The
 * lock file is created with mode 0600 if it is missing, and is never removed. An existing file
 * keeps its bytes; a symbolic link, a FIFO or a device is refused. A thread holds at most one lock.
 * PGY_E_IO or PGY_E_NOT_FOUND: the lock file cannot be created. */
pgy_status file_lock_take(file_lock **out, const char *path, pgy_error *err) PGY_MUST_CHECK;
void file_lock_release(file_lock *l); /* NULL is fine */

#endif
