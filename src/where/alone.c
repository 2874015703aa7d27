/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a model whose nodes do not read each other's results. One session then shows the error of
 * every node, where a session for each node would cost seconds. */
#include <string.h>

#include "graph/edit.h"
#include "where/where.h"

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static bool append_input(pgy_graph *g, pgy_value *v)
{
    pgy_value **inputs =
        arena_alloc_array(&state_of(g)->memory, g->input_count + 1, sizeof *inputs);
    if (!inputs) return false;
    if (g->input_count) memcpy(inputs, g->inputs, g->input_count * sizeof *inputs);
    inputs[g->input_count++] = v;
    g->inputs = level_of(g)->declared = inputs;
    level_of(g)->declared_count = g->input_count;
    v->is_input = true;
    return true;
}

static pgy_status declare(pgy_value *v, const pgy_tensor *t, pgy_error *err)
{
    const size_t rank = pgy_tensor_rank(t);
    value_box *box = box_of(v);
    dim *dims = arena_alloc_array(&state_of(v->graph)->memory, rank, sizeof *dims);
    if (rank && !dims) return no_memory(err);
    for (size_t d = 0; d < rank; d++) dims[d] = dim_const(pgy_tensor_shape(t)[d]);
    v->kind = PGY_VALUE_TENSOR;
    box->declared = (op_value){.dtype = pgy_tensor_dtype(t), .rank = (int32_t)rank, .dims = dims};
    box->known = box->declared;
    return value_publish(v, err);
}

static pgy_status hand(pgy_graph *g, pgy_tensor_map *feed, const char *name, pgy_tensor *t,
                       pgy_error *err)
{
    str stem = {0};
    pgy_value *from = pgy_graph_find_value(g, name), *to = NULL;
    if (!from || !from->producer || !from->consumer_count) return PGY_OK;
    str_printf(&stem, "handed/%s", name);
    pgy_status st = stem.failed ? no_memory(err) : PGY_OK;
    if (!st) to = value_create_unique(g, str_text(&stem), err);
    if (!st && !to) st = PGY_E_MEMORY;
    if (!st) st = declare(to, t, err);
    if (!st && !append_input(g, to)) st = no_memory(err);
    if (!st) st = value_replace_uses(from, to, err);
    if (!st) st = pgy_tensor_map_set(feed, to->name, t, err);
    str_deinit(&stem);
    return st;
}

/* Nodes that no wanted tensor needs would still demand their inputs. */
static void mark_needed(bool *needed, const pgy_graph *g, const pgy_value *v)
{
    const pgy_node *n = v ? v->producer : NULL;
    if (!n || n->graph != g || needed[n->index]) return;
    needed[n->index] = true;
    for (size_t i = 0; i < n->input_count; i++) mark_needed(needed, g, n->inputs[i]);
    for (size_t i = 0; i < node_box_of(n)->captured_count; i++)
        mark_needed(needed, g, node_box_of(n)->captured[i]);
}

static pgy_status prune(pgy_graph *g, pgy_error *err)
{
    bool *needed = arena_alloc_array(&state_of(g)->memory, g->node_count + 1, sizeof *needed);
    if (!needed) return no_memory(err);
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_status st = node_captures(g->nodes[i], err);
        if (st) return st;
    }
    for (size_t i = 0; i < g->output_count; i++) mark_needed(needed, g, g->outputs[i]);
    const size_t count = g->node_count;
    for (size_t i = 0; i < count; i++)
        if (!needed[i]) node_unlink(g->nodes[i]);
    graph_sweep(g);
    size_t kept = 0;
    for (size_t i = 0; i < g->input_count; i++)
        if (g->inputs[i]->consumer_count) g->inputs[kept++] = g->inputs[i];
    g->input_count = level_of(g)->declared_count = kept;
    level_of(g)->declared = g->inputs;
    kept = 0;
    for (size_t i = 0; i < g->initializer_count; i++)
        if (g->initializers[i]->consumer_count) g->initializers[kept++] = g->initializers[i];
    g->initializer_count = kept;
    graph_mark_changed(g);
    return PGY_OK;
}

static pgy_status make_feed(pgy_tensor_map **out, const pgy_graph *g, const pgy_tensor_map *handed,
                            const pgy_tensor_map *inputs, pgy_error *err)
{
    pgy_tensor_map *feed = NULL;
    pgy_status st = pgy_tensor_map_create(&feed, err);
    for (size_t i = 0; !st && i < g->input_count; i++) {
        const char *name = g->inputs[i]->name;
        pgy_tensor *t = pgy_tensor_map_find(handed, name);
        if (!t) t = pgy_tensor_map_find(inputs, name);
        st = t ? pgy_tensor_map_set(feed, name, t, err)
               : pgy_error_set(err, PGY_E_UNSUPPORTED, "input '%s' has no data", name);
    }
    if (st)
        pgy_tensor_map_destroy(feed);
    else
        *out = feed;
    return st;
}

pgy_status where_alone(pgy_model **out, pgy_tensor_map **feed, pgy_model *model,
                       const pgy_tensor_map *handed, const pgy_tensor_map *inputs,
                       const char *const *outputs, size_t count, pgy_error *err)
{
    const pgy_output_selection wanted = {
        .size = sizeof wanted, .names = outputs, .name_count = count};
    pgy_graph *g = NULL;
    pgy_tensor_map *given = NULL;
    pgy_status st = pgy_graph_import(&g, model, err);
    if (!st) st = pgy_graph_sort(g, err);
    /* unknown types of outputs are no failure: most runtimes infer them */
    if (!st && pgy_graph_infer_shapes(g, NULL, NULL) == PGY_E_CANCELLED)
        st = pgy_error_set(err, PGY_E_CANCELLED, "cancelled");
    if (!st) st = pgy_graph_select_outputs(g, &wanted, err);
    if (!st) st = pgy_tensor_map_create(&given, err);
    for (size_t i = 0; !st && i < pgy_tensor_map_count(handed); i++)
        st = hand(g, given, pgy_tensor_map_name(handed, i), pgy_tensor_map_at(handed, i), err);
    if (!st) st = prune(g, err);
    if (!st) st = make_feed(feed, g, given, inputs, err);
    if (!st && (st = pgy_graph_export(out, g, err))) {
        pgy_tensor_map_destroy(*feed);
        *feed = NULL;
    }
    pgy_tensor_map_destroy(given);
    pgy_graph_destroy(g);
    return st;
}
