/* SPDX-License-Identifier: Apache-2.0 */
/* A view's graph: lookups and its end. */
#include "viewer/graph.h"

#include <string.h>

#include "base/alloc.h"

void view_graph_destroy(view_graph *g)
{
    if (!g) return;
    strmap_deinit(&g->node_by_name);
    strmap_deinit(&g->tensor_by_name);
    pgy_model_destroy(g->model);
    arena_deinit(&g->memory);
    mem_free(g);
}

uint32_t view_graph_node(const view_graph *g, const char *name)
{
    const view_node *n = strmap_get(&g->node_by_name, name);
    const char *plus = n ? NULL : strstr(name, " + ");
    if (plus) n = strmap_get_n(&g->node_by_name, name, (size_t)(plus - name));
    return n ? (uint32_t)(n - g->nodes) : VIEW_NONE;
}

uint32_t view_graph_tensor(const view_graph *g, const char *name)
{
    const view_tensor *t = strmap_get(&g->tensor_by_name, name);
    return t ? (uint32_t)(t - g->tensors) : VIEW_NONE;
}
