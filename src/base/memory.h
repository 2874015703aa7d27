/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory there is, and how much of it this process allows itself. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint64_t memory_resident_bytes(void);

/* What pgy_set_max_memory allows; else, found at the first call, 15/16 of what was free then. The
 * blocks of base/alloc.h that are counted stay within it together. */
uint64_t memory_limit_bytes(void);
/* For errors: "the limit of 123 bytes of memory (free memory of this machine; --max-memory sets
 * another one)". */
typedef struct memory_limit_text {
    char text[200];
} memory_limit_text;
memory_limit_text memory_limit_describe(void);
/* The same for a limit that may be a smaller one: "the limit of 123 bytes". */
memory_limit_text memory_limit_describe_other(uint64_t size_bytes);

/* What is free: the least of what /proc/meminfo calls available and of what each control group
 * around the process leaves, version 1 or 2. `root` is "" but in tests: the folder that has proc/
 * and sys/. *source (may be NULL) is set to where the figure comes from. UINT64_MAX: unknown. */
uint64_t memory_free_bytes(const char *root, const char **source);

#endif
