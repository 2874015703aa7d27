/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces a region by one node. The region consists of the producers of its outputs and of those
 * nodes before them that nothing else needs. A node whose results are also read elsewhere stays. */
#include "base/alloc.h"
#include "gs/edit/cleanup.h"

static pgy_status cut_makers(gs_node_list *dying, pgy_gs_tensor *t, const pgy_gs_node *keep,
                             pgy_error *err)
{
    for (size_t i = 0; i < t->producer_count;) {
        pgy_gs_node *n = t->producers[i];
        if (n == keep) {
            i++;
            continue;
        }
        size_t j = 0;
        while (n->outputs[j] != t) j++;
        pgy_status st = gs_node_list_push(dying, n, err);
        if (!st) st = gs_drop_output(n, j, err);
        if (st) return st;
    }
    return PGY_OK;
}

static bool is_needed(const pgy_gs_node *n)
{
    for (size_t i = 0; i < n->output_count; i++) {
        const pgy_gs_tensor *t = n->outputs[i];
        if (pgy_gs_is_omitted(t)) continue;
        if (t->consumer_count || gs_is_graph_output(n->graph, t)) return true;
    }
    return false;
}

static pgy_status push_producers(pgy_gs_tensor *t, void *user, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < t->producer_count && !st; i++)
        st = gs_node_list_push(user, t->producers[i], err);
    return st;
}

/* Removes nodes whose results nothing reads any more, then the nodes that only those read. */
static pgy_status remove_dead(gs_node_list *dying, const pgy_gs_graph *g, const pgy_gs_node *keep,
                              pgy_error *err)
{
    while (dying->count) {
        pgy_gs_node *n = dying->items[--dying->count];
        if (n == keep || n->graph != g || is_needed(n)) continue;
        pgy_status st = gs_each_dependency(n, push_producers, dying, err);
        if (!st) st = gs_detach_inside(n, err);
        if (st) return st;
        pgy_gs_remove_node(n);
    }
    return PGY_OK;
}

pgy_status pgy_gs_replace_region(pgy_gs_node **out, pgy_gs_graph *g, const pgy_gs_node_spec *spec,
                                 pgy_error *err)
{
    pgy_gs_node *added = NULL;
    gs_node_list dying = {0}; /* producers of replaced outputs; each may be dead now */
    pgy_status st = pgy_gs_add_node(&added, g, spec, err);
    for (size_t i = 0; i < spec->output_count && !st; i++)
        if (!pgy_gs_is_omitted(spec->outputs[i]))
            st = cut_makers(&dying, spec->outputs[i], added, err);
    if (!st) st = remove_dead(&dying, g, added, err);
    if (!st && out) *out = added;
    mem_free(dying.items);
    return st;
}
