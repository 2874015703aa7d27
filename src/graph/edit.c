/* SPDX-License-Identifier: Apache-2.0 */
/* The basic edits of passes: links between values and nodes, new values under free names, new
 * nodes. Arrays live in the arena and double when full, so nothing is freed here. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/edit.h"

/* ---- Uses ------------------------------------------------------------------------------------
 * Consumers keep their order. The list is a part of an array, so removing the first entry is as
 * cheap as removing the last. Searches start where the last one ended, because passes visit the
 * nodes in order. */

static bool grow_uses(pgy_value *v)
{
    value_box *box = box_of(v);
    const size_t count = v->consumer_count;
    const size_t before = box->uses ? (size_t)(v->consumers - box->uses) : 0;
    pgy_node **uses = box->uses;
    size_t room = before + box->room;
    if (count < box->room) return true;
    if (before == 0 || before < count) { /* else half of the array is free in front, and moving the
                                            entries there is enough */
        room = count ? 2 * count : 1;
        uses = arena_alloc_array(&state_of(v->graph)->memory, room, sizeof *uses);
        if (!uses) return false;
    }
    if (count) memmove(uses, v->consumers, count * sizeof *uses);
    v->consumers = box->uses = uses;
    box->room = room;
    return true;
}

pgy_status value_add_consumer(pgy_value *v, pgy_node *n, pgy_error *err)
{
    if (!grow_uses(v)) return graph_no_memory(err);
    v->consumers[v->consumer_count++] = n;
    return PGY_OK;
}

/* Removes entry `at` of the consumers by moving the shorter of the two parts beside it. */
static void remove_use(pgy_value *v, size_t at)
{
    value_box *box = box_of(v);
    const size_t behind = --v->consumer_count - at;
    pgy_node **uses = v->consumers;
    box->last_use = at;
    if (behind <= at) {
        memmove(uses + at, uses + at + 1, behind * sizeof *uses);
    } else {
        memmove(uses + 1, uses, at * sizeof *uses);
        v->consumers++;
        box->room--;
    }
}

void value_remove_consumer(pgy_value *v, pgy_node *n)
{
    size_t at = v->consumer_count;
    while (at > 0 && v->consumers[at - 1] != n) at--;
    if (at > 0) remove_use(v, at - 1);
}

void value_drop_consumer(pgy_value *v, pgy_node *n)
{
    const size_t count = v->consumer_count, last = box_of(v)->last_use;
    size_t up = last < count ? last : count, down = up;
    while (up < count || down > 0) {
        if (up < count && v->consumers[up++] == n) {
            remove_use(v, up - 1);
            return;
        }
        if (down > 0 && v->consumers[--down] == n) {
            remove_use(v, down);
            return;
        }
    }
}

/* ---- New values and nodes ----------------------------------------------------------------- */

pgy_value *value_create_unique(pgy_graph *g, const char *stem, pgy_error *err)
{
    const char *name = graph_free_name(state_of(g), stem, NULL, NULL);
    pgy_value *v = name ? level_add_value(g, name) : NULL;
    if (!v) graph_no_memory(err);
    return v;
}

pgy_status value_rename(pgy_value *v, const char *name, pgy_error *err)
{
    char *copy = arena_strdup(&state_of(v->graph)->memory, name);
    if (!copy || !strmap_rename(&level_of(v->graph)->values, v->name, name))
        return graph_no_memory(err);
    level_count_name(state_of(v->graph), v->name, -1);
    level_count_name(state_of(v->graph), name, 1);
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
    box->id = state_of(g)->node_count++;
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

enum { FEW_INPUTS = 8 };

/* Does n read v exactly once? Answers false for nodes with many inputs, where counting takes long.
 */
static bool reads_once(const pgy_node *n, const pgy_value *v)
{
    size_t uses = 0;
    if (n->input_count > FEW_INPUTS) return false;
    for (size_t i = 0; i < n->input_count; i++) uses += n->inputs[i] == v;
    return uses == 1;
}

pgy_status node_set_input(pgy_node *n, size_t i, pgy_value *v, pgy_error *err)
{
    pgy_value *before = n->inputs[i];
    if (before && reads_once(n, before))
        value_drop_consumer(before, n);
    else if (before)
        value_remove_consumer(before, n);
    n->inputs[i] = v;
    node_box_of(n)->changed = true;
    graph_mark_changed(n->graph);
    return v ? value_add_consumer(v, n, err) : PGY_OK;
}

/* Finds an input of n that reads v, starting at the last input found; input_count: no input does.
 */
static size_t find_slot(const pgy_node *n, const pgy_value *v)
{
    const size_t first = node_box_of(n)->last_slot;
    for (size_t i = first; i < n->input_count; i++)
        if (n->inputs[i] == v) return i;
    for (size_t i = 0; i < first && i < n->input_count; i++)
        if (n->inputs[i] == v) return i;
    return n->input_count;
}

pgy_status value_replace_uses(pgy_value *from, pgy_value *to, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = from->consumer_count; !st && i-- > 0;) {
        pgy_node *n = from->consumers[i];
        /* each entry of the consumers stands for one input */
        const size_t slot = find_slot(n, from);
        if (slot == n->input_count) continue;
        box_of(from)->last_use = i;
        node_box_of(n)->last_slot = slot;
        st = node_set_input(n, slot, to, err);
    }
    return st;
}

void node_set_output(pgy_node *n, size_t i, pgy_value *v)
{
    n->outputs[i] = v;
    v->producer = n;
    v->output_index = i;
    node_box_of(n)->changed = true;
    graph_mark_changed(n->graph);
}

pgy_status value_take_over(pgy_value *x, pgy_value *y, pgy_error *err)
{
    const pgy_status st = value_replace_uses(x, y, err);
    if (st) return st;
    node_set_output(x->producer, x->output_index, y);
    x->producer = NULL;
    return PGY_OK;
}

static void drop_uses(pgy_node *n)
{
    for (size_t i = 0; i < n->input_count; i++)
        if (n->inputs[i]) value_drop_consumer(n->inputs[i], n);
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

void graph_sweep(pgy_graph *level)
{
    size_t kept = 0;
    for (size_t i = 0; i < level->node_count; i++)
        if (level->nodes[i]->graph) level->nodes[kept++] = level->nodes[i];
    level->node_count = kept;
    graph_reindex(level);
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

pgy_node *pgy_graph_find_node(const pgy_graph *g, const char *name)
{
    for (size_t i = 0; i < g->node_count; i++)
        if (strcmp(g->nodes[i]->name, name) == 0) return g->nodes[i];
    return NULL;
}
