/* SPDX-License-Identifier: Apache-2.0 */
/* A call of a model-local function gives way to the nodes of its body. Every call gets a copy of
 * its own, made from the stored function; attributes that refer to the function's become those of
 * the call, inputs become the call's, and what the body calls its own gets a name that is free. A
 * function of other opset versions stays a call. */
#include <string.h>

#include "base/alloc.h"
#include "engine/pass.h"
#include "transform/fold.h"

enum { MAX_NODES = 1 << 20 };

typedef struct inliner {
    folder f;
    pgy_graph *level;
    pgy_node **nodes; /* the level's, to be */
    size_t count, capacity;
    size_t calls;
} inliner;

/* ---- Which calls ---------------------------------------------------------------------------- */

static bool refers(const pgy_onnx_attribute *a)
{
    return a->ref_attr_name && *a->ref_attr_name;
}

static bool has_same_opsets(const pgy_graph *g, const pgy_onnx_function *f)
{
    for (size_t i = 0; i < f->opset_import_count; i++) {
        const pgy_onnx_opset *o = f->opset_imports[i];
        const int64_t own = pgy_graph_opset(g, o->domain);
        if (own != o->version && (own || o->version != 1)) return false;
    }
    return true;
}

static bool can_inline(const inliner *in, const pgy_node *n, const graph_function *f)
{
    if (!has_same_opsets(n->graph, f->proto) || n->subgraph_count || in->count > MAX_NODES)
        return false;
    for (size_t i = 0; i < n->attribute_count; i++)
        if (refers(n->attributes[i])) return false;
    return n->output_count <= f->proto->output_count && n->input_count <= f->proto->input_count;
}

/* ---- The copy ------------------------------------------------------------------------------- */

static pgy_status copy_body(pgy_graph **out, const pgy_node *call, const pgy_onnx_function *f,
                            pgy_error *err)
{
    const graph_level *around = level_of(call->graph);
    pgy_graph *body = NULL;
    pgy_status st = level_create(&body, state_of(call->graph), NULL, err);
    if (st) return st;
    graph_level *level = level_of(body);
    body->model = call->graph->model;
    body->name = f->name;
    level->opsets = around->opsets;
    level->opset_count = around->opset_count;
    level->default_opset = around->default_opset;
    level->depth = around->depth;
    for (size_t i = 0; !st && i < f->input_count; i++)
        if (!level_add_value(body, f->inputs[i])) st = graph_no_memory(err);
    if (!st) st = level_import_nodes(body, f->nodes, f->node_count, err);
    *out = body;
    return st;
}

/* What a reference to an attribute of the function stands for, or NULL. */
static const pgy_onnx_attribute *find_attribute(const pgy_node *call, const pgy_onnx_function *f,
                                                const char *name)
{
    const pgy_onnx_attribute *given = node_attribute(call, name);
    for (size_t i = 0; !given && i < f->attribute_proto_count; i++)
        if (strcmp(f->attribute_protos[i]->name, name) == 0) given = f->attribute_protos[i];
    return given;
}

static pgy_status resolve_node(pgy_node *n, const pgy_node *call, const pgy_onnx_function *f,
                               pgy_error *err)
{
    arena *memory = &state_of(n->graph)->memory;
    size_t count = 0;
    const pgy_onnx_attribute **list = arena_alloc_array(memory, n->attribute_count, sizeof *list);
    if (!list) return graph_no_memory(err);
    for (size_t i = 0; i < n->attribute_count; i++) {
        const pgy_onnx_attribute *a = n->attributes[i];
        if (!refers(a)) {
            list[count++] = a;
            continue;
        }
        const pgy_onnx_attribute *given = find_attribute(call, f, a->ref_attr_name);
        pgy_onnx_attribute *own = pgy_model_alloc(n->graph->model, 1, sizeof *own);
        if (!own) return graph_no_memory(err);
        if (!given) continue;
        *own = *given;
        own->message.raw = (pgy_bytes){0};
        own->name = a->name;
        list[count++] = own;
        node_box_of(n)->changed = true;
    }
    n->attributes = list;
    n->attribute_count = count;
    return PGY_OK;
}

static pgy_status resolve(pgy_graph *g, const pgy_node *call, const pgy_onnx_function *f,
                          pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->node_count; i++) {
        st = resolve_node(g->nodes[i], call, f, err);
        for (size_t k = 0; !st && k < g->nodes[i]->subgraph_count; k++) {
            graph_mark_changed(g->nodes[i]->subgraphs[k]);
            st = resolve(g->nodes[i]->subgraphs[k], call, f, err);
        }
    }
    return st;
}

/* ---- Moving it ------------------------------------------------------------------------------ */

/* Graphs inside `g` that give `from` give `to`. */
static void replace_results(pgy_graph *g, const pgy_value *from, pgy_value *to)
{
    for (size_t i = 0; i < g->node_count; i++)
        for (size_t k = 0; k < g->nodes[i]->subgraph_count; k++) {
            pgy_graph *inner = g->nodes[i]->subgraphs[k];
            for (size_t o = 0; o < inner->output_count; o++)
                if (inner->outputs[o] == from) inner->outputs[o] = to;
            if (to) to->is_output |= from->is_output;
            replace_results(inner, from, to);
        }
}

static pgy_status connect_inputs(pgy_graph *body, const pgy_node *call, const pgy_onnx_function *f,
                                 pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < f->input_count; i++) {
        pgy_value *from = pgy_graph_find_value(body, f->inputs[i]);
        pgy_value *to = i < call->input_count ? call->inputs[i] : NULL;
        if (!to && from->is_output)
            return node_error(call, err, PGY_E_FORMAT, "needs its input %zu", i);
        st = fold_replace_uses(from, to, err);
        replace_results(body, from, to);
    }
    return st;
}

static bool name_is_free(const graph_state *s, const char *name)
{
    for (size_t i = 0; i < s->level_count; i++)
        if (strmap_has(&level_of(s->levels[i])->values, name)) return false;
    return true;
}

static pgy_status move_value(inliner *in, pgy_value *v, pgy_error *err)
{
    graph_state *s = in->f.state;
    const char *name = v->name;
    while (name && !name_is_free(s, name))
        name = arena_printf(&s->memory, "%s_%llu", v->name, (unsigned long long)s->name_count++);
    if (!name || !strmap_put(&level_of(in->level)->values, name, box_of(v)))
        return graph_no_memory(err);
    v->name = name;
    v->graph = in->level;
    return PGY_OK;
}

/* All names that are used must be written anew. */
static void mark_nodes(pgy_graph *g)
{
    level_of(g)->changed = true;
    for (size_t i = 0; i < g->node_count; i++) {
        node_box_of(g->nodes[i])->changed = true;
        for (size_t k = 0; k < g->nodes[i]->subgraph_count; k++)
            mark_nodes(g->nodes[i]->subgraphs[k]);
    }
}

static pgy_status keep_node(inliner *in, pgy_node *n, pgy_error *err)
{
    void *nodes = in->nodes;
    if (!mem_grow(&nodes, &in->capacity, in->count + 1, sizeof *in->nodes))
        return graph_no_memory(err);
    in->nodes = nodes;
    in->nodes[in->count++] = n;
    return PGY_OK;
}

static pgy_status move_nodes(inliner *in, pgy_graph *body, const pgy_node *call, pgy_error *err)
{
    pgy_status st = PGY_OK;
    mark_nodes(body);
    for (size_t i = 0; !st && i < body->node_count; i++) {
        pgy_node *n = body->nodes[i];
        n->graph = in->level;
        n->name = arena_printf(&in->f.state->memory, "%s/%s", node_label(call), node_label(n));
        for (size_t k = 0; k < n->subgraph_count; k++) n->subgraphs[k]->parent = in->level;
        st = n->name ? keep_node(in, n, err) : graph_no_memory(err);
    }
    body->node_count = 0;
    return st;
}

/* An output of the model keeps its name; folding takes the Identity away. */
static pgy_status connect_output(inliner *in, pgy_value *from, pgy_value *to, pgy_error *err)
{
    pgy_node *made = NULL;
    if (!to->is_output) return fold_replace_uses(to, from, err);
    const pgy_status st = node_create(&made, in->level, "Identity", &from, 1, &to, 1, err);
    if (st) return st;
    in->level->node_count--; /* it goes to its place in the new list */
    return keep_node(in, made, err);
}

static pgy_status inline_call(inliner *in, pgy_node *call, const pgy_onnx_function *f,
                              pgy_error *err)
{
    pgy_graph *body = NULL;
    pgy_value **results = arena_alloc_array(&in->f.memory, f->output_count, sizeof *results);
    pgy_status st = results ? copy_body(&body, call, f, err) : graph_no_memory(err);
    if (!st) st = resolve(body, call, f, err);
    for (size_t i = 0; !st && i < call->output_count; i++) {
        results[i] = pgy_graph_find_value(body, f->outputs[i]);
        for (size_t k = 0; k < f->input_count; k++) /* an input that is passed on */
            if (strcmp(f->outputs[i], f->inputs[k]) == 0)
                results[i] = k < call->input_count ? call->inputs[k] : NULL;
        if (!results[i] && call->outputs[i])
            st = node_error(call, err, PGY_E_FORMAT, "its output '%s' has no value", f->outputs[i]);
    }
    if (!st) st = connect_inputs(body, call, f, err);
    if (st) return st;
    fold_drop_node(&in->f, call);
    strmap values = level_of(body)->values;
    level_of(body)->values = (strmap){0}; /* its names are free now */
    for (size_t i = 0; !st && i < values.count; i++) {
        pgy_value *v = values.entries[i].value;
        if (v->producer) st = move_value(in, v, err);
    }
    strmap_deinit(&values);
    if (!st) st = move_nodes(in, body, call, err);
    for (size_t i = 0; !st && i < call->output_count; i++)
        if (call->outputs[i]) st = connect_output(in, results[i], call->outputs[i], err);
    in->calls++;
    return st;
}

/* ---- The pass ------------------------------------------------------------------------------- */

static pgy_status take_list(inliner *in, pgy_error *err)
{
    pgy_graph *g = in->level;
    pgy_node **nodes = arena_alloc_array(&in->f.state->memory, in->count, sizeof *nodes);
    if (!nodes) return graph_no_memory(err);
    if (in->count) memcpy(nodes, in->nodes, in->count * sizeof *nodes);
    g->nodes = nodes;
    g->node_count = level_of(g)->node_capacity = in->count;
    graph_reindex(g);
    return PGY_OK;
}

static pgy_status inline_level(inliner *in, pgy_graph *level, pgy_error *err)
{
    pgy_status st = PGY_OK;
    const size_t before = in->calls;
    in->level = level;
    in->count = 0;
    for (size_t i = 0; !st && i < level->node_count; i++) {
        pgy_node *n = level->nodes[i];
        st = node_prepare(n, err);
        if (st) break;
        graph_function *f = node_box_of(n)->function;
        st = f && can_inline(in, n, f) ? inline_call(in, n, f->proto, err) : keep_node(in, n, err);
    }
    if (!st && in->calls != before) st = take_list(in, err);
    for (size_t i = 0; !st && i < level->node_count; i++)
        for (size_t k = 0; !st && k < level->nodes[i]->subgraph_count; k++)
            st = inline_level(in, level->nodes[i]->subgraphs[k], err);
    return st;
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    inliner in = {.f = {.graph = g, .state = state_of(g)}};
    pgy_status st = PGY_OK;
    /* Bodies may call others. */
    for (size_t depth = 0, before = SIZE_MAX; !st && before != in.calls && depth < GRAPH_MAX_DEPTH;
         depth++) {
        before = in.calls;
        if (state_of(g)->functions.count) st = inline_level(&in, g, err);
    }
    if (!st && in.calls) st = pgy_graph_sort(g, err);
    if (!st && in.calls) st = pgy_graph_infer_shapes(g, NULL, err);
    arena_deinit(&in.f.memory);
    mem_free(in.nodes);
    *changes = in.calls;
    return st;
}

const pass PASS_inline_functions = {
    .name = "inline_functions", .summary = "calls of functions of the model", .run = run};
