/* SPDX-License-Identifier: Apache-2.0 */
/* What all steps of a layout use: sizes and gaps of nodes, and the order of containers. */
#include "viewer/layout/layers.h"

#include <time.h>

pgy_status layout_no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "no memory for the layout");
}

double layout_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

bool layers_late(layers *l)
{
    if (!l->is_late && layout_now() > l->deadline) l->is_late = true;
    return l->is_late;
}

bool layer_is_port(const layers *l, uint32_t node)
{
    return node >= l->child_count && node < l->item_count;
}

uint32_t layer_bend(const layer_edge *e, uint32_t k)
{
    return e->is_cut && k > 0 ? e->last_bend : e->bend + k;
}

float layer_width(const layers *l, uint32_t node)
{
    return node < l->item_count ? l->widths[node] : 0;
}

float layer_gap(const layers *l, uint32_t left, uint32_t right)
{
    return left < l->child_count && right < l->child_count ? LAYER_ITEM_GAP : LAYER_BEND_GAP;
}

pgy_status layout_parents_first(uint32_t **order, uint32_t *count, const view_graph *g, arena *a,
                                pgy_error *err)
{
    uint32_t *list = arena_alloc_array(a, (size_t)g->container_count + 1, sizeof *list), n = 0;
    if (!list) return layout_no_memory(err);
    for (uint32_t c = 0; c < g->container_count; c++)
        if (g->containers[c].parent == VIEW_NONE) list[n++] = c;
    for (uint32_t i = 0; i < n; i++) {
        const view_container *c = &g->containers[list[i]];
        for (uint32_t k = 0; k < c->child_count; k++)
            if (c->children[k].kind == VIEW_ITEM_CONTAINER && n < g->container_count)
                list[n++] = c->children[k].ref;
    }
    *order = list;
    *count = n;
    return PGY_OK;
}

uint32_t layout_shown(const view_graph *g, uint32_t container)
{
    const view_container *c = &g->containers[container];
    const bool is_one = c->kind == VIEW_REPEAT && c->state == VIEW_ONE && c->child_count > 0 &&
                        c->children[0].kind == VIEW_ITEM_CONTAINER;
    return is_one ? c->children[0].ref : container;
}
