/* SPDX-License-Identifier: Apache-2.0 */
/* Memory: thin covers of malloc that count, so that a test can refuse the n-th request, and checked
 * arithmetic. The counter is looked at through one flag that is false in normal use. */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#ifdef NDEBUG

bool mem_fail_nth(uint64_t n)
{
    (void)n;
    return false;
}

static inline bool refused(void)
{
    return false;
}

#else

static atomic_bool armed;
static _Atomic uint64_t countdown;

bool mem_fail_nth(uint64_t n)
{
    atomic_store(&countdown, n);
    atomic_store(&armed, n != 0);
    return true;
}

/* Before main, so that the allocation functions need not ask whether the variable has been read. */
__attribute__((constructor)) static void read_environment(void)
{
    const char *text = getenv("POLYGRAPHY_TEST_FAIL_ALLOC");
    if (text) mem_fail_nth(strtoull(text, NULL, 10));
}

static __attribute__((noinline)) bool count_down(void)
{
    if (atomic_fetch_sub(&countdown, 1) != 1) return false;
    atomic_store(&armed, false);
    return true;
}

static inline bool refused(void)
{
    return __builtin_expect(atomic_load_explicit(&armed, memory_order_relaxed), 0) && count_down();
}

#endif

void *mem_alloc(size_t size_bytes)
{
    if (refused()) return NULL;
    return malloc(size_bytes ? size_bytes : 1);
}

void *mem_calloc(size_t count, size_t size_bytes)
{
    if (refused()) return NULL;
    return count && size_bytes ? calloc(count, size_bytes) : calloc(1, 1);
}

void *mem_realloc(void *p, size_t size_bytes)
{
    if (refused()) return NULL;
    return realloc(p, size_bytes ? size_bytes : 1);
}

void *mem_realloc_array(void *p, size_t count, size_t size_bytes)
{
    size_t total;
    return size_mul(&total, count, size_bytes) ? mem_realloc(p, total) : NULL;
}

void *mem_alloc_aligned(size_t alignment, size_t size_bytes)
{
    void *p = NULL;
    if (refused()) return NULL;
    if (alignment < sizeof(void *)) alignment = sizeof(void *);
    return posix_memalign(&p, alignment, size_bytes ? size_bytes : 1) ? NULL : p;
}

void mem_free(void *p)
{
    free(p);
}

#ifdef __GLIBC__
void mem_keep_freed(void)
{
    enum { LARGEST = 32 << 20, KEPT = 512 << 20 };
    mallopt(M_MMAP_THRESHOLD, LARGEST);
    mallopt(M_TRIM_THRESHOLD, KEPT);
}

void mem_give_back(void)
{
    malloc_trim(0);
}
#else
void mem_keep_freed(void)
{
}

void mem_give_back(void)
{
}
#endif

char *mem_strdup(const char *s)
{
    return mem_strndup(s, strlen(s));
}

char *mem_strndup(const char *s, size_t size_bytes)
{
    size_t total;
    char *copy = size_add(&total, size_bytes, 1) ? mem_alloc(total) : NULL;
    if (!copy) return NULL;
    if (size_bytes) memcpy(copy, s, size_bytes);
    copy[size_bytes] = '\0';
    return copy;
}

bool size_mul(size_t *out, size_t a, size_t b)
{
    size_t r;
    if (__builtin_mul_overflow(a, b, &r)) return false;
    *out = r;
    return true;
}

bool size_add(size_t *out, size_t a, size_t b)
{
    size_t r;
    if (__builtin_add_overflow(a, b, &r)) return false;
    *out = r;
    return true;
}

bool i64_mul(int64_t *out, int64_t a, int64_t b)
{
    int64_t r;
    if (__builtin_mul_overflow(a, b, &r)) return false;
    *out = r;
    return true;
}

bool i64_add(int64_t *out, int64_t a, int64_t b)
{
    int64_t r;
    if (__builtin_add_overflow(a, b, &r)) return false;
    *out = r;
    return true;
}

bool mem_grow(void **items, size_t *capacity, size_t wanted, size_t item_bytes)
{
    if (wanted <= *capacity) return true;
    size_t larger = *capacity > SIZE_MAX / 2 ? SIZE_MAX : *capacity * 2;
    if (larger < wanted) larger = wanted;
    if (larger < 8) larger = 8;
    void *grown = mem_realloc_array(*items, larger, item_bytes);
    if (!grown) return false;
    *items = grown;
    *capacity = larger;
    return true;
}
