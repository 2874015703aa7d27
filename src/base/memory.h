/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory is free, and how much of it this process may use. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint64_t memory_resident_bytes(void);

/* The limit set by pgy_set_max_memory, else 15/16 of the memory that was free at the first call.
 * The sum of the large blocks that base/alloc.h counts stays below it. */
uint64_t memory_limit_bytes(void);
/* For errors: "the limit of 123 bytes of memory (15/16 of the free memory; pgy_set_max_memory sets
 * another one)". */
typedef struct memory_limit_text {
    char text[200];
} memory_limit_text;
memory_limit_text memory_limit_describe(void);
/* Describes another limit in the same way: "the limit of 123 bytes". */
memory_limit_text memory_limit_describe_other(uint64_t size_bytes);

/* Free memory: the smallest of MemAvailable in /proc/meminfo and the free part of the limit of each
 * control group (cgroup v1 or v2) that contains the process. `root` is the folder that has proc/
 * and sys/; only tests pass something other than "". *source (may be NULL) is set to the place the
 * figure comes from. UINT64_MAX: unknown. */
uint64_t memory_free_bytes(const char *root, const char **source);

#endif
