/* SPDX-License-Identifier: Apache-2.0 */
/* Tables indexed by the id (graph.h) of a value, node, level or function, for what one pass, check
 * or executor knows about it. Each user owns its table, so two users never share a field of the
 * graph.
 *
 *     SIDE_TABLE(use_counts, uint32_t)
 *
 *     use_counts uses = {0};
 *     uint32_t *n = use_counts_at(&uses, value_id(v));      NULL: out of memory
 *     if (n) ++*n;
 *     uint32_t known = use_counts_get(&uses, value_id(w));  0: never written
 *     use_counts_deinit(&uses);
 *
 * Entries lie in pages, which are allocated when one of their ids is first written. So an entry
 * keeps its address while the table grows, and visiting a few nodes of a large graph stays cheap.
 */
#ifndef GRAPH_SIDE_TABLE_H
#define GRAPH_SIDE_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include <polygraphy/base.h>

#define SIDE_TABLE_INLINE static inline __attribute__((unused))

enum { SIDE_TABLE_PAGE = 128 }; /* entries per page */

typedef struct side_table {
    void **pages; /* pages[id / SIDE_TABLE_PAGE]; NULL: no entry of this page was written yet */
    size_t page_capacity;
} side_table;

void side_table_deinit(side_table *t);
/* Returns the entry of an id, zeroed at its first use. NULL: out of memory. */
void *side_table_at(side_table *t, size_t id, size_t item_bytes);
/* Allocates the entries of ids below `count`, so side_table_at cannot fail for them. False: out of
 * memory. */
bool side_table_reserve(side_table *t, size_t count, size_t item_bytes);
/* Zeroes every entry; keeps the memory. */
void side_table_clear(side_table *t, size_t item_bytes);

static inline const void *side_table_find(const side_table *t, size_t id, size_t item_bytes)
{
    const size_t page = id / SIDE_TABLE_PAGE;
    if (page >= t->page_capacity || !t->pages[page]) return NULL;
    return (const char *)t->pages[page] + id % SIDE_TABLE_PAGE * item_bytes;
}

/* Defines a table type `name` with entries of `type`, and its functions name_at, name_get, ... */
#define SIDE_TABLE(name, type)                                                          \
    typedef type name##_item;                                                           \
    typedef struct name {                                                               \
        side_table table;                                                               \
    } name;                                                                             \
    SIDE_TABLE_INLINE void name##_deinit(name *t)                                       \
    {                                                                                   \
        side_table_deinit(&t->table);                                                   \
    }                                                                                   \
    SIDE_TABLE_INLINE void name##_clear(name *t)                                        \
    {                                                                                   \
        side_table_clear(&t->table, sizeof(name##_item));                               \
    }                                                                                   \
    SIDE_TABLE_INLINE bool name##_reserve(name *t, size_t count)                        \
    {                                                                                   \
        return side_table_reserve(&t->table, count, sizeof(name##_item));               \
    }                                                                                   \
    SIDE_TABLE_INLINE name##_item *name##_at(name *t, size_t id)                        \
    {                                                                                   \
        return side_table_at(&t->table, id, sizeof(name##_item));                       \
    }                                                                                   \
    SIDE_TABLE_INLINE name##_item name##_get(const name *t, size_t id)                  \
    {                                                                                   \
        const name##_item *entry = side_table_find(&t->table, id, sizeof(name##_item)); \
        return entry ? *entry : (name##_item){0};                                       \
    }

SIDE_TABLE(id_marks, bool)
SIDE_TABLE(id_places, size_t)

/* Marks an id. False: out of memory. */
static inline bool id_marks_set(id_marks *t, size_t id)
{
    bool *entry = id_marks_at(t, id);
    if (entry) *entry = true;
    return entry != NULL;
}

#endif
