/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts nodes of a level out into a graph of their own. A copy of the whole graph, whose ids are
 * those of the original, is reduced to these nodes and their weights; other values that they read
 * become inputs. A second copy then has only what remains. */
#include <string.h>

#include "base/alloc.h"
#include "engine/program/flow_parts.h"
#include "graph/edit.h"

typedef struct cutter {
    const flow *f;
    const flow_level *level;
    size_t first, end;
    flow_cut *out;
    pgy_graph *copy;    /* of the whole graph; becomes the graph of the nodes */
    pgy_value **values; /* of the copy: all that the nodes read and write */
    pgy_value **inputs, **weights, **outputs;
    pgy_node **nodes;
    size_t value_count, input_count, weight_count, output_count, node_count;
    id_marks listed;
} cutter;

/* ---- The border, in the graph of the flow --------------------------------------------------- */

static bool is_inside(const cutter *c, const pgy_node *n)
{
    if (!n || n->graph != c->level->plan->graph) return false;
    const size_t place = c->level->places[n->index];
    return place > c->first && place <= c->end;
}

/* Does something outside read v? */
static bool leaves(const cutter *c, const pgy_value *v)
{
    for (size_t i = 0; i < v->consumer_count; i++)
        if (!is_inside(c, v->consumers[i])) return true;
    const pgy_graph *g = c->level->plan->graph;
    for (size_t i = 0; i < g->output_count; i++)
        if (g->outputs[i] == v) return true;
    return false;
}

static uint32_t reads_inside(const cutter *c, const pgy_value *v)
{
    uint32_t count = 0;
    for (size_t i = 0; i < v->consumer_count; i++) count += is_inside(c, v->consumers[i]);
    return count;
}

static void add_port(flow_port *ports, size_t *count, const cutter *c, pgy_value *v)
{
    ports[(*count)++] = (flow_port){.value = v, .times = reads_inside(c, v), .like = FLOW_MADE};
}

static pgy_status find_border(cutter *c, pgy_error *err)
{
    size_t reads = 0, writes = 0;
    for (size_t i = c->first; i < c->end; i++) {
        reads += c->level->order[i]->input_count;
        writes += c->level->order[i]->output_count;
    }
    flow_cut *out = c->out;
    out->inputs = arena_alloc_array(&out->memory, reads, sizeof *out->inputs);
    out->outputs = arena_alloc_array(&out->memory, writes, sizeof *out->outputs);
    if (!out->inputs || !out->outputs) return flow_no_memory(err);
    for (size_t i = c->first; i < c->end; i++) {
        const pgy_node *n = c->level->order[i];
        for (size_t k = 0; k < n->input_count; k++) {
            pgy_value *v = n->inputs[k];
            if (!v || flow_is_constant(v) || is_inside(c, v->producer)) continue;
            if (id_marks_get(&c->listed, value_id(v))) continue;
            if (!id_marks_set(&c->listed, value_id(v))) return flow_no_memory(err);
            add_port(out->inputs, &out->input_count, c, v);
        }
        for (size_t k = 0; k < n->output_count; k++)
            if (n->outputs[k] && leaves(c, n->outputs[k]))
                add_port(out->outputs, &out->output_count, c, n->outputs[k]);
    }
    id_marks_clear(&c->listed);
    return PGY_OK;
}

/* ---- The copy ------------------------------------------------------------------------------- */

static pgy_graph *level_in_copy(const cutter *c, const pgy_graph *g)
{
    return state_of(c->copy)->levels[level_id(g)];
}

static pgy_node *node_in_copy(const cutter *c, const pgy_node *n)
{
    return level_in_copy(c, n->graph)->nodes[n->index];
}

static bool list_value(cutter *c, pgy_value *v)
{
    if (id_marks_get(&c->listed, value_id(v))) return true;
    c->values[c->value_count++] = v;
    return id_marks_set(&c->listed, value_id(v));
}

static bool take_node(cutter *c, pgy_node *n);

/* Lists a value that a node reads, with what makes it known. */
static bool take_read(cutter *c, pgy_value *v)
{
    const bool is_new = !id_marks_get(&c->listed, value_id(v));
    if (!is_new) return true;
    if (v->initializer || v->sparse) {
        c->weights[c->weight_count++] = v;
        return list_value(c, v);
    }
    if (v->producer && node_constant(v->producer)) return take_node(c, v->producer);
    return list_value(c, v);
}

static bool take_node(cutter *c, pgy_node *n)
{
    bool ok = true;
    for (size_t i = 0; ok && i < n->input_count; i++)
        if (n->inputs[i]) ok = take_read(c, n->inputs[i]);
    for (size_t i = 0; ok && i < n->output_count; i++)
        if (n->outputs[i]) ok = list_value(c, n->outputs[i]);
    c->nodes[c->node_count++] = n;
    return ok;
}

/* Values of the copy that stand for ports: those of the same place at a node. */
static pgy_value *input_in_copy(const cutter *c, const pgy_value *v)
{
    for (size_t i = c->first; i < c->end; i++) {
        const pgy_node *n = c->level->order[i];
        for (size_t k = 0; k < n->input_count; k++)
            if (n->inputs[k] == v) return node_in_copy(c, n)->inputs[k];
    }
    return NULL;
}

static pgy_status allocate(cutter *c, pgy_error *err)
{
    size_t room = 1;
    arena *memory = &state_of(c->copy)->memory;
    for (size_t i = c->first; i < c->end; i++) {
        const pgy_node *n = c->level->order[i];
        room += n->input_count + n->output_count + 1;
    }
    /* A Constant that a node reads has a node and a value of its own. */
    c->values = arena_alloc_array(memory, 2 * room, sizeof(void *));
    c->inputs = arena_alloc_array(memory, room, sizeof(void *));
    c->weights = arena_alloc_array(memory, room, sizeof(void *));
    c->outputs = arena_alloc_array(memory, room, sizeof(void *));
    c->nodes = arena_alloc_array(memory, 2 * room, sizeof(void *));
    return c->values && c->inputs && c->weights && c->outputs && c->nodes ? PGY_OK
                                                                          : flow_no_memory(err);
}

static pgy_status list_all(cutter *c, pgy_error *err)
{
    bool ok = true;
    for (size_t i = c->first; ok && i < c->end; i++)
        ok = take_node(c, node_in_copy(c, c->level->order[i]));
    for (size_t i = 0; i < c->out->input_count; i++)
        c->inputs[c->input_count++] = input_in_copy(c, c->out->inputs[i].value);
    for (size_t i = 0; i < c->out->output_count; i++) {
        const pgy_value *v = c->out->outputs[i].value;
        c->outputs[c->output_count++] = node_in_copy(c, v->producer)->outputs[v->output_index];
    }
    return ok ? PGY_OK : flow_no_memory(err);
}

/* An input has its type and rank, but no sizes yet. */
static pgy_status declare_input(const cutter *c, pgy_value *v, pgy_error *err)
{
    graph_state *s = state_of(c->copy);
    value_box *box = box_of(v);
    dim *dims = box->known.rank > 0
                    ? arena_alloc_array(&s->memory, (size_t)box->known.rank, sizeof *dims)
                    : NULL;
    if (box->known.rank > 0 && !dims) return flow_no_memory(err);
    for (int32_t d = 0; d < box->known.rank; d++)
        dims[d] = dim_unknown(&s->dims, "it is known when the segment runs");
    v->producer = NULL;
    v->is_input = true;
    v->info = NULL;
    box->declared = (op_value){.dtype = box->known.dtype, .rank = box->known.rank, .dims = dims};
    box->known = box->declared;
    box->sizes = NULL;
    return PGY_OK;
}

/* Makes the copy a graph of the listed nodes and values only. */
static pgy_status reduce(cutter *c, pgy_error *err)
{
    pgy_graph *g = c->copy;
    graph_level *level = level_of(g);
    strmap before = level_take_values(g);
    strmap_deinit(&before);
    for (size_t i = 0; i < c->value_count; i++) {
        pgy_value *v = c->values[i];
        v->graph = g;
        v->consumer_count = 0;
        box_of(v)->last_use = 0;
        v->is_input = v->is_output = false;
        if (!level_put_value(g, v->name, box_of(v))) return flow_no_memory(err);
    }
    g->nodes = c->nodes;
    g->node_count = level->node_capacity = c->node_count;
    for (size_t i = 0; i < c->node_count; i++) {
        pgy_node *n = c->nodes[i];
        n->graph = g;
        for (size_t k = 0; k < n->input_count; k++) {
            const pgy_status st = n->inputs[k] ? value_add_consumer(n->inputs[k], n, err) : PGY_OK;
            if (st) return st;
        }
    }
    graph_reindex(g);
    g->proto = NULL;
    g->inputs = level->declared = c->inputs;
    g->input_count = level->declared_count = c->input_count;
    g->outputs = c->outputs;
    g->output_count = c->output_count;
    g->initializers = c->weights;
    g->initializer_count = c->weight_count;
    level->weight_capacity = 0;
    for (size_t i = 0; i < c->output_count; i++) c->outputs[i]->is_output = true;
    graph_mark_changed(g);
    for (size_t i = 0; i < c->input_count; i++) {
        const pgy_status st = declare_input(c, c->inputs[i], err);
        if (st) return st;
    }
    return PGY_OK;
}

pgy_status flow_cut_make(flow_cut *out, const flow *f, const flow_level *level, size_t first,
                         size_t end, pgy_error *err)
{
    flow_cut made = {0};
    cutter c = {.f = f, .level = level, .first = first, .end = end, .out = &made};
    pgy_status st = find_border(&c, err);
    if (!st) st = graph_clone(&c.copy, f->graph, err);
    if (!st) st = allocate(&c, err);
    if (!st) st = list_all(&c, err);
    if (!st) st = reduce(&c, err);
    if (!st) st = graph_clone(&made.graph, c.copy, err);
    id_marks_deinit(&c.listed);
    pgy_graph_destroy(c.copy);
    if (st)
        flow_cut_deinit(&made);
    else
        *out = made;
    return st;
}

void flow_cut_deinit(flow_cut *c)
{
    pgy_graph_destroy(c->graph);
    arena_deinit(&c->memory);
    *c = (flow_cut){0};
}
