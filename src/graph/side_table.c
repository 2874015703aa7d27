/* SPDX-License-Identifier: Apache-2.0 */
/* A side table is a list of pages, indexed by id / SIDE_TABLE_PAGE. The list grows, and pages are
 * allocated, when an id is first written. */
#include "graph/side_table.h"

#include <string.h>

#include "base/alloc.h"

void side_table_deinit(side_table *t)
{
    for (size_t i = 0; i < t->page_capacity; i++) mem_free(t->pages[i]);
    mem_free(t->pages);
    *t = (side_table){0};
}

static bool grow(side_table *t, size_t wanted)
{
    void *pages = t->pages;
    const size_t before = t->page_capacity;
    if (!mem_grow(&pages, &t->page_capacity, wanted, sizeof *t->pages)) return false;
    t->pages = pages;
    memset(t->pages + before, 0, (t->page_capacity - before) * sizeof *t->pages);
    return true;
}

void *side_table_at(side_table *t, size_t id, size_t item_bytes)
{
    const size_t page = id / SIDE_TABLE_PAGE;
    if (page >= t->page_capacity && !grow(t, page + 1)) return NULL;
    if (!t->pages[page]) t->pages[page] = mem_calloc(SIDE_TABLE_PAGE, item_bytes);
    return t->pages[page] ? (char *)t->pages[page] + id % SIDE_TABLE_PAGE * item_bytes : NULL;
}

bool side_table_reserve(side_table *t, size_t count, size_t item_bytes)
{
    for (size_t id = 0; id < count; id += SIDE_TABLE_PAGE)
        if (!side_table_at(t, id, item_bytes)) return false;
    return true;
}

void side_table_clear(side_table *t, size_t item_bytes)
{
    for (size_t i = 0; i < t->page_capacity; i++)
        if (t->pages[i]) memset(t->pages[i], 0, SIDE_TABLE_PAGE * item_bytes);
}
