/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes are matched to recorded tensors by the names of their outputs, so any runtime that has the
 * operators may record them. */
#include "transform/substitute.h"

#include <string.h>

static bool is_unknown(const pgy_node *n)
{
    const node_box *box = node_box_of(n);
    return !box->def && !box->function && !node_constant(n);
}

static bool is_used(const pgy_value *v)
{
    return v && (v->consumer_count || v->is_output);
}

static bool is_recorded(const pgy_node *n, const pgy_tensor_map *recorded)
{
    for (size_t i = 0; i < n->output_count; i++)
        if (is_used(n->outputs[i]) && !pgy_tensor_map_find(recorded, n->outputs[i]->name))
            return false;
    return true;
}

static pgy_status add_input(pgy_graph *g, pgy_value *v, pgy_error *err)
{
    pgy_value **inputs =
        arena_alloc_array(&state_of(g)->memory, g->input_count + 1, sizeof *inputs);
    if (!inputs) return graph_no_memory(err);
    if (g->input_count) memcpy(inputs, g->inputs, g->input_count * sizeof *inputs);
    inputs[g->input_count++] = v;
    g->inputs = inputs;
    v->producer = NULL;
    return PGY_OK;
}

static pgy_status remove_node(pgy_graph *g, pgy_node *n, pgy_error *err)
{
    for (size_t i = 0; i < n->input_count; i++)
        if (n->inputs[i]) value_drop_consumer(n->inputs[i], n);
    for (size_t i = 0; i < n->output_count; i++) {
        if (!n->outputs[i]) continue;
        const pgy_status st = is_used(n->outputs[i]) ? add_input(g, n->outputs[i], err) : PGY_OK;
        if (st) return st;
    }
    return PGY_OK;
}

pgy_status graph_substitute(size_t *count, pgy_graph *g, const pgy_tensor_map *recorded,
                            pgy_error *err)
{
    size_t kept = 0, removed = 0;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->node_count; i++) {
        pgy_node *n = g->nodes[i];
        st = node_prepare(n, err);
        if (!st && is_unknown(n) && is_recorded(n, recorded)) {
            st = remove_node(g, n, err);
            removed++;
        } else {
            g->nodes[kept++] = n;
        }
    }
    if (st) return st;
    g->node_count = kept;
    graph_reindex(g);
    graph_mark_changed(g);
    *count = removed;
    return PGY_OK;
}
