/* SPDX-License-Identifier: Apache-2.0 */
/* A lock beside a file that several processes and threads change. */
#ifndef BASE_FILE_LOCK_H
#define BASE_FILE_LOCK_H

#include <polygraphy/base.h>

typedef struct file_lock file_lock;
/* Waits for `<path>.lock`, which is made if need be and never removed: a record lock on the whole
 * of it (fcntl), as the Python tool takes it. A new lock file has mode 0600. What is there already
 * keeps its bytes; a symbolic link, a FIFO or a device is refused. A thread holds one lock at a
 * time. PGY_E_IO or PGY_E_NOT_FOUND: the lock file cannot be made. */
pgy_status file_lock_take(file_lock **out, const char *path, pgy_error *err) PGY_MUST_CHECK;
void file_lock_release(file_lock *l); /* NULL is fine */

#endif
