/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes of a view's graph are those of the model's main graph. */
#include "viewer/sources/main_nodes.h"

#include "base/alloc.h"

/* Is the node in the main graph, or in a frame there? Nodes of bodies have a call or a function
 * around them; the node of a call is in its own. */
static bool is_in_main(const view_graph *g, uint32_t node)
{
    uint32_t c = g->nodes[node].parent;
    for (uint32_t depth = 0; c != VIEW_NONE && c != 0 && depth <= g->container_count; depth++) {
        const view_container *at = &g->containers[c];
        if (at->kind == VIEW_BODY || at->kind == VIEW_FUNCTION) return false;
        c = at->parent;
    }
    return c == 0;
}

pgy_status main_nodes_list(main_nodes *out, const view_graph *g, pgy_error *err)
{
    *out = (main_nodes){.items = mem_calloc(g->node_count + 1ull, sizeof *out->items)};
    if (!out->items)
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory while results are read");
    for (uint32_t i = 0; i < g->node_count; i++)
        if (g->nodes[i].kind == VIEW_NODE && is_in_main(g, i)) out->items[out->count++] = i;
    return PGY_OK;
}

void main_nodes_deinit(main_nodes *n)
{
    mem_free(n->items);
    *n = (main_nodes){0};
}
