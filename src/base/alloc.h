/* SPDX-License-Identifier: Apache-2.0 */
/* The only place that calls malloc. Every allocation may return NULL; tests make the n-th one fail
 * (POLYGRAPHY_TEST_FAIL_ALLOC=n, builds with assertions only). Sizes from files are multiplied only
 * here, with overflow checks. */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *mem_alloc(size_t size_bytes);                /* uninitialised; size 0 gives a valid pointer */
void *mem_calloc(size_t count, size_t size_bytes); /* zeroed; NULL on overflow */
void *mem_realloc(void *p, size_t size_bytes);
void *mem_realloc_array(void *p, size_t count, size_t size_bytes); /* NULL on overflow */
void *mem_alloc_aligned(size_t alignment, size_t size_bytes);      /* free with mem_free */
/* Large blocks move without a copy. p may be NULL; on failure it is freed. The alignment must be
 * that of p. */
void *mem_realloc_aligned(void *p, size_t alignment, size_t size_bytes);
void mem_free(void *p);
/* Memory for data that lives long: weights, arenas. Large blocks are pages of their own, which the
 * system has back as soon as they are freed; others come from the allocator. Aligned to 64 bytes,
 * uninitialised. The size must be given again. */
void *mem_alloc_block(size_t size_bytes);
void mem_free_block(void *p, size_t size_bytes);
char *mem_strdup(const char *s);
char *mem_strndup(const char *s, size_t size_bytes);

/* The bytes of all live blocks of 1 MiB and more. A block that would raise it above
 * memory_limit_bytes() is refused. */
size_t mem_counted_bytes(void);
/* Returns the size of the block that this thread was refused last, and forgets it: pgy_error_set
 * adds it and the limit to the next memory error. 0: no refusal since the last call. */
size_t mem_take_refused(void);

/* From now on the process keeps freed memory instead of returning it to the system. This helps
 * computations that free and allocate megabytes all the time, because the first touch of a page
 * costs more than most work on it. Blocks over 32 MiB still come from the system. mem_give_back
 * returns the free memory. */
void mem_keep_freed(void);
void mem_give_back(void);

/* Has the system provide the pages of memory that is about to be written, in time that is free: a
 * first touch of each page would take it later. Contents stay; where the system has no such call,
 * nothing happens. */
void mem_ready(void *p, size_t size_bytes);

/* Checked arithmetic: false on overflow, *out untouched. */
bool size_mul(size_t *out, size_t a, size_t b);
bool size_add(size_t *out, size_t a, size_t b);
bool i64_mul(int64_t *out, int64_t a, int64_t b);
bool i64_add(int64_t *out, int64_t a, int64_t b);

/* Grows *items (element size `item_bytes`) to hold at least `wanted`, doubling. False: out of
 * memory. */
bool mem_grow(void **items, size_t *capacity, size_t wanted, size_t item_bytes);

/* For tests: the n-th allocation from now fails, once; 0 turns this off. False: a build without
 * assertions cannot do it. */
bool mem_fail_nth(uint64_t n);
/* Whether the request that is to be refused has not come yet. */
bool mem_fail_waits(void);

#endif
