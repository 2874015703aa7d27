/* SPDX-License-Identifier: Apache-2.0 */
/* Finds functions by name, domain and overload in a sorted list of their indices. */
#include "gs/graph/function_index.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static int compare_identity(const pgy_gs_graph *f, const char *name, const char *domain,
                            const char *overload)
{
    int c = strcmp(f->name, name);
    if (!c) c = strcmp(f->domain, domain);
    return c ? c : strcmp(f->overload, overload);
}

static int compare_places(const void *a, const void *b, void *user)
{
    pgy_gs_graph *const *functions = user;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    const pgy_gs_graph *g = functions[y];
    int c = compare_identity(functions[x], g->name, g->domain, g->overload);
    return c ? c : (x > y) - (x < y);
}

pgy_status gs_function_index_init(gs_function_index *x, const gs_document *d, pgy_error *err)
{
    *x = (gs_function_index){.document = d, .count = d->function_count};
    x->sorted = mem_calloc(x->count, sizeof *x->sorted);
    if (!x->sorted) return gs_no_memory(err);
    for (size_t i = 0; i < x->count; i++) x->sorted[i] = i;
    if (x->count) qsort_r(x->sorted, x->count, sizeof *x->sorted, compare_places, d->functions);
    return PGY_OK;
}

void gs_function_index_deinit(gs_function_index *x)
{
    mem_free(x->sorted);
    *x = (gs_function_index){0};
}

size_t gs_function_index_find(const gs_function_index *x, const pgy_gs_node *n)
{
    size_t low = 0, high = x->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const pgy_gs_graph *f = x->document->functions[x->sorted[middle]];
        if (compare_identity(f, n->op, n->domain, n->overload) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == x->count) return SIZE_MAX;
    size_t place = x->sorted[low];
    return compare_identity(x->document->functions[place], n->op, n->domain, n->overload) ? SIZE_MAX
                                                                                          : place;
}

bool gs_function_index_repeats(const gs_function_index *x, size_t i)
{
    const pgy_gs_graph *before = x->document->functions[x->sorted[i - 1]];
    const pgy_gs_graph *f = x->document->functions[x->sorted[i]];
    return compare_identity(before, f->name, f->domain, f->overload) == 0;
}
