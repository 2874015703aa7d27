/* SPDX-License-Identifier: Apache-2.0 */
/* The small changes that passes are made of: links between values and nodes, new values under free
 * names, new nodes. Arrays live in the arena and double, so nothing is freed here. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/graph.h"

pgy_status state_keep_tensor(graph_state *s, pgy_tensor *t, pgy_error *err)
{
    void *tensors = s->tensors;
    if (!mem_grow(&tensors, &s->tensor_capacity, s->tensor_count + 1, sizeof *s->tensors)) {
        pgy_tensor_release(t);
        return graph_no_memory(err);
    }
    s->tensors = tensors;
    s->tensors[s->tensor_count++] = t;
    return PGY_OK;
}

pgy_status value_add_consumer(pgy_value *v, pgy_node *n, pgy_error *err)
{
    const size_t count = v->consumer_count;
    if ((count & (count - 1)) == 0) { /* full: room is the next power of two */
        pgy_node **grown =
            arena_alloc_array(&state_of(v->graph)->memory, count ? 2 * count : 1, sizeof *grown);
        if (!grown) return graph_no_memory(err);
        if (count) memcpy(grown, v->consumers, count * sizeof *grown);
        v->consumers = grown;
    }
    v->consumers[v->consumer_count++] = n;
    return PGY_OK;
}

/* Room is told from the count, so after this the array may grow earlier than it had to. */
void value_remove_consumer(pgy_value *v, pgy_node *n)
{
    size_t at = v->consumer_count; /* callers go from the end, too */
    while (at > 0 && v->consumers[at - 1] != n) at--;
    if (at-- == 0) return;
    v->consumer_count--;
    memmove(v->consumers + at, v->consumers + at + 1,
            (v->consumer_count - at) * sizeof *v->consumers);
}

/* The level and its subgraphs must not hold the name already, and neither may a level around it. */
static bool name_is_free(const graph_state *s, const char *name)
{
    for (size_t i = 0; i < s->level_count; i++)
        if (strmap_has(&level_of(s->levels[i])->values, name)) return false;
    return true;
}

pgy_value *value_create_unique(pgy_graph *g, const char *stem, pgy_error *err)
{
    graph_state *s = state_of(g);
    char *name = arena_strdup(&s->memory, stem);
    while (name && !name_is_free(s, name))
        name = arena_printf(&s->memory, "%s_%llu", stem, (unsigned long long)s->name_count++);
    pgy_value *v = name ? level_add_value(g, name) : NULL;
    if (!v) graph_no_memory(err);
    return v;
}

pgy_status value_rename(pgy_value *v, const char *name, pgy_error *err)
{
    char *copy = arena_strdup(&state_of(v->graph)->memory, name);
    if (!copy || !strmap_rename(&level_of(v->graph)->values, v->name, name))
        return graph_no_memory(err);
    v->name = copy;
    if (v->producer) node_box_of(v->producer)->changed = true;
    for (size_t i = 0; i < v->consumer_count; i++) {
        node_box_of(v->consumers[i])->changed = true;
        graph_mark_changed(v->consumers[i]->graph);
    }
    graph_mark_changed(v->graph);
    return PGY_OK;
}

static bool grow_nodes(pgy_graph *g)
{
    graph_level *level = level_of(g);
    if (g->node_count < level->node_capacity) return true;
    const size_t wanted = g->node_count ? 2 * g->node_count : 8;
    pgy_node **nodes = arena_alloc_array(&level->state->memory, wanted, sizeof *nodes);
    if (!nodes) return false;
    if (g->node_count) memcpy(nodes, g->nodes, g->node_count * sizeof *nodes);
    g->nodes = nodes;
    level->node_capacity = wanted;
    return true;
}

pgy_status node_create(pgy_node **out, pgy_graph *g, const char *op_type, pgy_value *const *inputs,
                       size_t input_count, pgy_value *const *outputs, size_t output_count,
                       pgy_error *err)
{
    arena *memory = &state_of(g)->memory;
    node_box *box = arena_alloc(memory, sizeof *box);
    pgy_value **ins = arena_alloc_array(memory, input_count, sizeof *ins);
    pgy_value **outs = arena_alloc_array(memory, output_count, sizeof *outs);
    if (!box || !ins || !outs || !grow_nodes(g)) return graph_no_memory(err);
    pgy_node *n = &box->node;
    *n = (pgy_node){.name = "",
                    .op_type = op_type,
                    .domain = "",
                    .overload = "",
                    .inputs = ins,
                    .input_count = input_count,
                    .outputs = outs,
                    .output_count = output_count,
                    .graph = g,
                    .internal = box,
                    .index = g->node_count};
    box->changed = true;
    for (size_t i = 0; i < input_count; i++) {
        ins[i] = inputs[i];
        const pgy_status st = inputs[i] ? value_add_consumer(inputs[i], n, err) : PGY_OK;
        if (st) return st;
    }
    for (size_t i = 0; i < output_count; i++) {
        outs[i] = outputs[i];
        if (!outs[i]) continue; /* omitted */
        outs[i]->producer = n;
        outs[i]->output_index = i;
    }
    if (output_count) n->name = arena_printf(memory, "%s_%s", op_type, outputs[0]->name);
    if (!n->name) return graph_no_memory(err);
    g->nodes[g->node_count++] = n;
    graph_mark_changed(g);
    *out = n;
    return PGY_OK;
}

pgy_status node_set_input(pgy_node *n, size_t i, pgy_value *v, pgy_error *err)
{
    if (n->inputs[i]) value_remove_consumer(n->inputs[i], n);
    n->inputs[i] = v;
    node_box_of(n)->changed = true;
    graph_mark_changed(n->graph);
    return v ? value_add_consumer(v, n, err) : PGY_OK;
}

pgy_status value_replace_uses(pgy_value *from, pgy_value *to, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = from->consumer_count; !st && i-- > 0;) {
        pgy_node *n = from->consumers[i];
        for (size_t k = 0; k < n->input_count; k++) {
            if (n->inputs[k] != from) continue;
            st = node_set_input(n, k, to, err);
            break; /* one use per entry of the list */
        }
    }
    return st;
}

static void drop_uses(pgy_node *n)
{
    for (size_t i = 0; i < n->input_count; i++)
        if (n->inputs[i]) value_remove_consumer(n->inputs[i], n);
    for (size_t i = 0; i < n->subgraph_count; i++)
        for (size_t k = 0; k < n->subgraphs[i]->node_count; k++)
            drop_uses(n->subgraphs[i]->nodes[k]);
}

void node_unlink(pgy_node *n)
{
    drop_uses(n);
    for (size_t i = 0; i < n->output_count; i++)
        if (n->outputs[i] && n->outputs[i]->producer == n) n->outputs[i]->producer = NULL;
    graph_mark_changed(n->graph);
    n->graph = NULL;
}

void graph_reindex(pgy_graph *g)
{
    for (size_t i = 0; i < g->node_count; i++) g->nodes[i]->index = i;
}

void graph_mark_changed(pgy_graph *g)
{
    for (; g; g = g->parent) level_of(g)->changed = true;
}

void graph_suggest(suggestions *out, const pgy_graph *g)
{
    const graph_level *level = level_of(g);
    for (size_t i = 0; i < level->declared_count; i++) suggest_offer(out, level->declared[i]->name);
    for (size_t i = 0; i < g->node_count; i++)
        for (size_t k = 0; k < g->nodes[i]->output_count; k++)
            if (g->nodes[i]->outputs[k]) suggest_offer(out, g->nodes[i]->outputs[k]->name);
    for (size_t i = 0; i < g->initializer_count; i++) suggest_offer(out, g->initializers[i]->name);
}

pgy_value *pgy_graph_find_value(const pgy_graph *g, const char *name)
{
    return strmap_get(&level_of(g)->values, name);
}

pgy_node *pgy_graph_find_node(const pgy_graph *g, const char *name)
{
    for (size_t i = 0; i < g->node_count; i++)
        if (strcmp(g->nodes[i]->name, name) == 0) return g->nodes[i];
    return NULL;
}
