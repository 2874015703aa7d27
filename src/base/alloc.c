/* SPDX-License-Identifier: Apache-2.0 */
/* Thin wrappers of malloc, which keep large blocks within the limit of base/memory.h and let a test
 * refuse the n-th request, and checked arithmetic. In normal use the test hook costs one check of a
 * flag. */
#include "base/alloc.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/memory.h"

#ifdef NDEBUG

bool mem_fail_nth(uint64_t n)
{
    (void)n;
    return false;
}

bool mem_fail_waits(void)
{
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

bool mem_fail_waits(void)
{
    return atomic_load(&armed);
}

/* Runs before main, so that the allocation functions need not check whether the variable has been
 * read. */
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

/* ---- The limit ------------------------------------------------------------------------------ */

/* Only large blocks are counted, because they fill a machine, and small allocations must stay
 * cheap. */
enum { COUNTED_FROM = 1 << 20 };

static atomic_size_t counted_bytes;
static _Thread_local size_t refused_bytes;

static bool is_counted(size_t size_bytes)
{
    return __builtin_expect(size_bytes >= COUNTED_FROM, 0);
}

/* Counts before the allocation, so that two threads cannot both take the last free bytes. */
static __attribute__((noinline)) bool count_in(size_t size_bytes)
{
    const uint64_t limit = memory_limit_bytes();
    const size_t before =
        atomic_fetch_add_explicit(&counted_bytes, size_bytes, memory_order_relaxed);
    if (size_bytes <= limit && before <= limit - size_bytes) return true;
    atomic_fetch_sub_explicit(&counted_bytes, size_bytes, memory_order_relaxed);
    refused_bytes = size_bytes;
    return false;
}

static void count_out(size_t size_bytes)
{
    atomic_fetch_sub_explicit(&counted_bytes, size_bytes, memory_order_relaxed);
}

#ifdef __GLIBC__
static size_t size_of(void *p)
{
    return p ? malloc_usable_size(p) : 0;
}
#else
static size_t size_of(void *p) /* blocks are only checked one by one */
{
    (void)p;
    return 0;
}
#endif

/* Replaces the requested size in the count by the real size of the block, because mem_free
 * subtracts the real size. */
static void *settle(void *p, size_t requested)
{
    const size_t has = size_of(p);
    if (is_counted(has)) atomic_fetch_add_explicit(&counted_bytes, has, memory_order_relaxed);
    if (is_counted(requested)) count_out(requested);
    return p;
}

static bool may_have(size_t size_bytes)
{
    return !refused() && (!is_counted(size_bytes) || count_in(size_bytes));
}

size_t mem_counted_bytes(void)
{
    return atomic_load_explicit(&counted_bytes, memory_order_relaxed);
}

size_t mem_take_refused(void)
{
    const size_t size_bytes = refused_bytes;
    refused_bytes = 0;
    return size_bytes;
}

/* ---- Allocation ----------------------------------------------------------------------------- */

void *mem_alloc(size_t size_bytes)
{
    if (!may_have(size_bytes)) return NULL;
    return settle(malloc(size_bytes ? size_bytes : 1), size_bytes);
}

void *mem_calloc(size_t count, size_t size_bytes)
{
    size_t total;
    if (!size_mul(&total, count, size_bytes) || !may_have(total)) return NULL;
    return settle(total ? calloc(count, size_bytes) : calloc(1, 1), total);
}

/* Large blocks grow in place or move without a copy, so the old block and the new one are not held
 * at the same time. */
void *mem_realloc(void *p, size_t size_bytes)
{
    const size_t had = size_of(p);
    if (is_counted(had)) count_out(had);
    void *grown = NULL;
    if (may_have(size_bytes)) {
        grown = realloc(p, size_bytes ? size_bytes : 1);
        settle(grown, size_bytes);
    }
    if (!grown && is_counted(had))
        atomic_fetch_add_explicit(&counted_bytes, had, memory_order_relaxed);
    return grown;
}

void *mem_realloc_array(void *p, size_t count, size_t size_bytes)
{
    size_t total;
    return size_mul(&total, count, size_bytes) ? mem_realloc(p, total) : NULL;
}

void *mem_alloc_aligned(size_t alignment, size_t size_bytes)
{
    void *p = NULL;
    if (!may_have(size_bytes)) return NULL;
    if (alignment < sizeof(void *)) alignment = sizeof(void *);
    if (posix_memalign(&p, alignment, size_bytes ? size_bytes : 1)) p = NULL;
    return settle(p, size_bytes);
}

/* The C library keeps the place in a page when it moves a large block, so those stay aligned. */
void *mem_realloc_aligned(void *p, size_t alignment, size_t size_bytes)
{
    if (!p) return mem_alloc_aligned(alignment, size_bytes);
    void *grown = mem_realloc(p, size_bytes);
    if (grown && (uintptr_t)grown % alignment == 0) return grown;
    void *moved = grown ? mem_alloc_aligned(alignment, size_bytes) : NULL;
    if (moved) memcpy(moved, grown, size_bytes);
    mem_free(grown ? grown : p);
    return moved;
}

void mem_free(void *p)
{
    const size_t had = size_of(p);
    if (is_counted(had)) count_out(had);
    free(p);
}

/* ---- Blocks --------------------------------------------------------------------------------- */

/* Smaller blocks share pages: a system call and the first touch of each page cost more than most
 * work on them. */
enum { BLOCK_ALIGNMENT = 64, PAGES_FROM = 256 << 10, HUGE_PAGE = 2 << 20 };

void *mem_alloc_block(size_t size_bytes)
{
    if (size_bytes < PAGES_FROM) return mem_alloc_aligned(BLOCK_ALIGNMENT, size_bytes);
    if (!may_have(size_bytes)) return NULL;
    void *p = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        if (is_counted(size_bytes)) count_out(size_bytes);
        return NULL;
    }
    /* Products of few rows read weights as fast as memory allows, and each new page costs a walk of
     * the page table. Where the system has no huge pages, the advice does nothing. */
    if (size_bytes >= HUGE_PAGE) (void)madvise(p, size_bytes, MADV_HUGEPAGE);
    return p;
}

void mem_free_block(void *p, size_t size_bytes)
{
    if (size_bytes < PAGES_FROM) {
        mem_free(p);
    } else if (p) {
        munmap(p, size_bytes);
        if (is_counted(size_bytes)) count_out(size_bytes);
    }
}

#ifdef __GLIBC__
void mem_keep_freed(void)
{
    enum { LARGEST = 32 << 20, KEPT = 512 << 20 };
    mallopt(M_MMAP_THRESHOLD, LARGEST);
    mallopt(M_TRIM_THRESHOLD, KEPT);
}

/* One thread at a time: where another allocator has replaced malloc (a sanitizer, or one that is
 * preloaded), the first call sets up glibc's own, which two threads must not do at once. */
void mem_give_back(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    malloc_trim(0);
    pthread_mutex_unlock(&lock);
}
#else
void mem_keep_freed(void)
{
}

void mem_give_back(void)
{
}
#endif

void mem_ready(void *p, size_t size_bytes)
{
#ifdef MADV_POPULATE_WRITE
    enum { PAGE = 4096 };
    const uintptr_t first = (uintptr_t)p / PAGE * PAGE;
    if (size_bytes >= PAGE)
        (void)madvise((void *)first, size_bytes + ((uintptr_t)p - first), MADV_POPULATE_WRITE);
#else
    (void)p, (void)size_bytes;
#endif
}

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
