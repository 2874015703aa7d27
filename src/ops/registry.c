/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all operators. Rows of all files are gathered once into an array sorted by name,
 * domain and version; a look-up is a binary search in it. Rows of plug-ins are in a second, short
 * list, which only grows, so readers need no lock. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "ops/op.h"

#define OP(file) extern const op_def OP_##file[];
#include "ops/ops.def"
#undef OP

static const op_def *const TABLES[] = {
#define OP(file) OP_##file,
#include "ops/ops.def"
#undef OP
    NULL,
};

enum { MAX_ROWS = 2048, MAX_ADDED = 1024 };
static const op_def *rows[MAX_ROWS];   /* in ops.def order */
static const op_def *sorted[MAX_ROWS]; /* rows sorted by name, domain and version */
static size_t row_count;
static pthread_once_t gathered = PTHREAD_ONCE_INIT;
static const op_def *added[MAX_ADDED];
static atomic_size_t added_count;
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;

static int compare_rows(const void *a, const void *b)
{
    const op_def *x = *(const op_def *const *)a, *y = *(const op_def *const *)b;
    const int by_name = strcmp(x->name, y->name);
    if (by_name) return by_name;
    const int by_domain = strcmp(x->domain, y->domain);
    return by_domain ? by_domain : (x->since > y->since) - (x->since < y->since);
}

static void gather(void)
{
    for (const op_def *const *table = TABLES; *table; table++)
        for (const op_def *row = *table; row->name && row_count < MAX_ROWS; row++)
            rows[row_count++] = row;
    memcpy(sorted, rows, row_count * sizeof *rows);
    qsort(sorted, row_count, sizeof *sorted, compare_rows);
}

static const op_def *find_added(const char *domain, const char *name, int64_t version)
{
    const size_t count = atomic_load_explicit(&added_count, memory_order_acquire);
    const op_def *best = NULL;
    for (size_t i = 0; i < count; i++) {
        const op_def *row = added[i];
        if (row->since <= version && (!best || row->since > best->since) &&
            !strcmp(row->name, name) && !strcmp(row->domain, domain))
            best = row;
    }
    return best;
}

const op_def *op_find(const char *domain, const char *name, int64_t version)
{
    pthread_once(&gathered, gather);
    if (!domain || strcmp(domain, "ai.onnx") == 0) domain = "";
    size_t low = 0, high = row_count;
    while (low < high) { /* the first row that is greater than (name, domain, version) */
        const size_t middle = (low + high) / 2;
        const op_def *row = sorted[middle];
        int order = strcmp(row->name, name);
        if (!order) order = strcmp(row->domain, domain);
        if (order > 0 || (order == 0 && row->since > version))
            high = middle;
        else
            low = middle + 1;
    }
    const op_def *row = low ? sorted[low - 1] : NULL;
    if (row && strcmp(row->name, name) == 0 && strcmp(row->domain, domain) == 0) return row;
    return find_added(domain, name, version);
}

bool op_add_rows(const op_def *more, size_t count)
{
    pthread_mutex_lock(&adding);
    const size_t present = atomic_load(&added_count);
    const bool fits = count <= MAX_ADDED - present;
    for (size_t i = 0; fits && i < count; i++) added[present + i] = &more[i];
    if (fits) atomic_store_explicit(&added_count, present + count, memory_order_release);
    pthread_mutex_unlock(&adding);
    return fits;
}

const op_def *op_added(size_t i)
{
    return i < atomic_load_explicit(&added_count, memory_order_acquire) ? added[i] : NULL;
}

size_t op_table_count(void)
{
    pthread_once(&gathered, gather);
    return row_count;
}

const op_def *op_table_at(size_t i)
{
    return i < op_table_count() ? rows[i] : NULL;
}

const op_def *op_sorted_at(size_t i)
{
    if (i < op_table_count()) return sorted[i];
    i -= row_count;
    return i < atomic_load_explicit(&added_count, memory_order_acquire) ? added[i] : NULL;
}
