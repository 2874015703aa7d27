/* SPDX-License-Identifier: Apache-2.0 */
/* How many processors this process may use, and which one a thread runs on. */
#ifndef BASE_PROCESSORS_H
#define BASE_PROCESSORS_H

#include <stddef.h>
#include <stdint.h>

/* The processor time that the control groups (cgroup v1 or v2) of this process allow it, in
 * processors, rounded up: containers are limited in this way (`docker run --cpus`, limits of
 * Kubernetes), while their affinity mask names all processors of the machine. SIZE_MAX: no limit.
 * `root` is the folder that has proc/ and sys/; only tests pass something other than "". */
size_t processors_quota(const char *root);

/* The number of processors that this process may run on: those of its affinity mask, at most the
 * quota; at least 1. */
size_t processors_allowed(void);

/* The processor that this thread runs on; -1: unknown. */
int processors_current(void);
/* Moves this thread from this processor to another one of its affinity mask, if it has any. */
void processors_leave(int processor);

#endif
