/* SPDX-License-Identifier: Apache-2.0 */
/* Names of nodes. The report identifies nodes by name, so each node needs a unique one. */
#include <stdint.h>

#include "base/alloc.h"
#include "base/log.h"
#include "inspect/lint/report.h"

static const char LOG_PATH[] = "inspect/lint/names.c";

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

/* If the name is taken, appends a number. A number is used only once, so that every try has a new
 * name. */
static const char *unique_name(const strmap *taken, size_t place, size_t *number, arena *memory)
{
    char *name = arena_printf(memory, "polygraphy_unnamed_node_%zu", place);
    while (name && strmap_has(taken, name))
        name = arena_printf(memory, "polygraphy_unnamed_node_%zu_%zu", place, (*number)++);
    return name;
}

pgy_status lint_name_nodes(pgy_node *const *nodes, size_t count, arena *memory, pgy_error *err)
{
    strmap taken = {0};
    size_t number = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++)
        if (nodes[i]->name && nodes[i]->name[0]) ok = strmap_put(&taken, nodes[i]->name, nodes[i]);
    for (size_t i = 0; ok && i < count; i++) {
        if (nodes[i]->name && nodes[i]->name[0]) continue;
        nodes[i]->name = unique_name(&taken, i, &number, memory);
        ok = nodes[i]->name && strmap_put(&taken, nodes[i]->name, nodes[i]);
        if (ok)
            LOG(VERBOSE, "Node %zu (%s) has no name; the report calls it %s", i, nodes[i]->op_type,
                nodes[i]->name);
    }
    strmap_deinit(&taken);
    return ok ? PGY_OK : no_memory(err);
}

#define NONE SIZE_MAX

/* Linked lists of the nodes that share a name, as indices of nodes. */
typedef struct name_lists {
    size_t *next, *last; /* next: the next node with this name, or NONE; last: indexed by a list's
                            first node, the last one */
    strmap first;        /* name -> &next[index of its first node] */
} name_lists;

static bool make_lists(name_lists *l, pgy_node *const *nodes, size_t count)
{
    l->next = mem_calloc(count + 1, sizeof *l->next);
    l->last = mem_calloc(count + 1, sizeof *l->last);
    if (!l->next || !l->last) return false;
    for (size_t i = 0; i < count; i++) {
        l->next[i] = NONE;
        const size_t *head = strmap_get(&l->first, nodes[i]->name);
        const size_t first = head ? (size_t)(head - l->next) : i;
        if (head)
            l->next[l->last[first]] = i;
        else if (!strmap_put(&l->first, nodes[i]->name, &l->next[i]))
            return false;
        l->last[first] = i;
    }
    return true;
}

static bool add_duplicate(lint_report *r, const name_lists *l, const char *name, size_t first)
{
    str text = {0};
    str_printf(&text, "Duplicate node name: '%s' for nodes with topological IDs: [", name);
    for (size_t i = first; i != NONE; i = l->next[i])
        str_printf(&text, i == first ? "%zu" : ", %zu", i);
    str_append(&text, "] found.");
    const bool ok = !text.failed;
    if (ok)
        lint_add(r, &(pgy_lint_finding){.level = PGY_LINT_EXCEPTION,
                                        .source = PGY_LINT_GRAPH,
                                        .code = LINT_CODE_DUPLICATE,
                                        .node = name,
                                        .message = str_text(&text)});
    str_deinit(&text);
    return ok;
}

pgy_status lint_check_names(lint_report *r, pgy_node *const *nodes, size_t count, pgy_error *err)
{
    name_lists l = {0};
    bool ok = make_lists(&l, nodes, count);
    for (size_t i = 0; ok && i < l.first.count; i++) {
        const size_t first = (size_t)((const size_t *)l.first.entries[i].value - l.next);
        if (l.next[first] != NONE) ok = add_duplicate(r, &l, l.first.entries[i].key, first);
    }
    mem_free(l.next);
    mem_free(l.last);
    strmap_deinit(&l.first);
    return ok ? PGY_OK : no_memory(err);
}
