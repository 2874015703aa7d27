/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces each call of a model-local function by a copy of the function's body, made from the
 * stored function. References to attributes of the function become the attributes of the call,
 * inputs become the inputs of the call, results keep the names of the call's outputs, and inner
 * values get free names. */
#include "graph/inline.h"

#include <string.h>

#include "graph/edit.h"

enum { MAX_NODES = 1 << 20 };

typedef struct inliner {
    pgy_graph *graph, *level;
    const inline_choice *choice;
    const char *prefix; /* path for the names of inner values; NULL: none */
    strmap taken;     /* value names of all levels, so that new names stay unique */
    node_splice list; /* the new node list of the level */
    size_t calls, copied;
} inliner;

/* ---- Which calls ---------------------------------------------------------------------------- */

static bool refers(const pgy_onnx_attribute *a)
{
    return a->ref_attr_name && *a->ref_attr_name;
}

/* Do g and the function import the same opset versions? A domain that only the function imports is
 * no conflict; import_domains adds it later. */
static bool has_same_opsets(const pgy_graph *g, const pgy_onnx_function *f)
{
    for (size_t i = 0; i < f->opset_import_count; i++) {
        const int64_t own = pgy_graph_opset(g, f->opset_imports[i]->domain);
        if (own && own != f->opset_imports[i]->version) return false;
    }
    return true;
}

static bool can_inline(const inliner *in, const pgy_node *n, const graph_function *f)
{
    const inline_choice *choice = in->choice;
    if (!(choice && choice->any_opset) && !has_same_opsets(n->graph, f->proto)) return false;
    if (n->subgraph_count || in->copied > MAX_NODES) return false;
    if (choice && choice->wanted && !choice->wanted(n, choice->user)) return false;
    for (size_t i = 0; i < n->attribute_count; i++)
        if (refers(n->attributes[i])) return false;
    return n->output_count <= f->proto->output_count && n->input_count <= f->proto->input_count;
}

/* ---- The copy ------------------------------------------------------------------------------- */

static pgy_status copy_body(pgy_graph **out, const inliner *in, const pgy_node *call,
                            const pgy_onnx_function *f, pgy_error *err)
{
    const graph_level *around = level_of(call->graph);
    const bool own = in->choice && in->choice->any_opset;
    pgy_graph *body = NULL;
    pgy_status st = level_create(&body, state_of(call->graph), NULL, err);
    if (st) return st;
    graph_level *level = level_of(body);
    body->model = call->graph->model;
    body->name = f->name;
    level->opsets = own ? f->opset_imports : around->opsets;
    level->opset_count = own ? f->opset_import_count : around->opset_count;
    level->default_opset = own ? function_opset(f) : around->default_opset;
    level->depth = around->depth;
    for (size_t i = 0; !st && i < f->input_count; i++)
        if (!level_add_value(body, f->inputs[i])) st = graph_no_memory(err);
    if (!st) st = level_import_nodes(body, f->nodes, f->node_count, err);
    *out = body;
    return st;
}

/* Resolves a reference to an attribute of the function; NULL: neither the call nor a default sets
 * it. */
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
        if (!given) continue;
        list[count] = attribute_renamed(n->graph->model, given, a->name);
        if (!list[count++]) return graph_no_memory(err);
    }
    n->attributes = list;
    n->attribute_count = count;
    return PGY_OK;
}

/* Resolves references to the function's attributes in all copied nodes, and marks the nodes as
 * changed, because the names that they read change. */
static pgy_status resolve(pgy_graph *g, inliner *in, const pgy_node *call,
                          const pgy_onnx_function *f, pgy_error *err)
{
    pgy_status st = PGY_OK;
    level_of(g)->changed = true;
    in->copied += g->node_count;
    for (size_t i = 0; !st && i < g->node_count; i++) {
        pgy_node *n = g->nodes[i];
        node_box_of(n)->changed = true;
        st = resolve_node(n, call, f, err);
        for (size_t k = 0; !st && k < n->subgraph_count; k++)
            st = resolve(n->subgraphs[k], in, call, f, err);
    }
    return st;
}

/* ---- Moving it ------------------------------------------------------------------------------ */

/* Makes subgraphs in `g` that output `from` output `to`. */
static void replace_results(pgy_graph *g, const pgy_value *from, pgy_value *to)
{
    for (size_t i = 0; i < g->node_count; i++)
        for (size_t k = 0; k < g->nodes[i]->subgraph_count; k++) {
            pgy_graph *inner = g->nodes[i]->subgraphs[k];
            for (size_t o = 0; o < inner->output_count; o++) {
                if (inner->outputs[o] != from) continue;
                inner->outputs[o] = to;
                if (to) to->is_output = true;
            }
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
            return node_error(call, err, PGY_E_FORMAT,
                              "input %zu is missing, but the function passes it on as an output",
                              i);
        st = value_replace_uses(from, to, err);
        replace_results(body, from, to);
    }
    return st;
}

static bool has_name(const char *name, const void *user)
{
    return strmap_has(user, name);
}

static pgy_status move_value(inliner *in, pgy_value *v, pgy_error *err)
{
    graph_state *s = state_of(in->graph);
    const char *stem =
        in->prefix ? arena_printf(&s->memory, "%s/%s", in->prefix, v->name) : v->name;
    const char *name = stem ? graph_free_name(s, stem, has_name, &in->taken) : NULL;
    if (!name || !level_put_value(in->level, name, box_of(v)) || !strmap_put(&in->taken, name, v))
        return graph_no_memory(err);
    v->name = name;
    v->graph = in->level;
    return PGY_OK;
}

/* Names the values of subgraphs inside a copied body: they keep their names where these are free.
 */
static pgy_status settle_inner(inliner *in, pgy_graph *g, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->node_count; i++)
        for (size_t k = 0; !st && k < g->nodes[i]->subgraph_count; k++) {
            pgy_graph *inner = g->nodes[i]->subgraphs[k];
            strmap values = level_take_values(inner);
            pgy_graph *level = in->level;
            in->level = inner;
            for (size_t v = 0; !st && v < values.count; v++)
                st = move_value(in, values.entries[v].value, err);
            in->level = level;
            strmap_deinit(&values);
            if (!st) st = settle_inner(in, inner, err);
        }
    return st;
}

static pgy_status move_nodes(inliner *in, pgy_graph *body, const pgy_node *call, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < body->node_count; i++) {
        pgy_node *n = body->nodes[i];
        st = node_prepare(n, err); /* attributes are converted by the opsets of the function */
        n->name =
            arena_printf(&state_of(in->graph)->memory, "%s/%s", node_label(call), node_label(n));
        if (!st && !n->name) st = graph_no_memory(err);
    }
    return st ? st : splice_move(&in->list, body, err);
}

/* Adds an Identity for a result that has no node of its own: an input that is passed on, or a
 * result that is listed twice.
 */
static pgy_status alias(inliner *in, pgy_value *from, pgy_value *to, pgy_error *err)
{
    return to->is_output ? splice_identity(&in->list, from, to, err)
                         : value_replace_uses(to, from, err);
}

/* Sets results[i] to the value of output i in the body. */
static pgy_status find_results(pgy_value **results, const pgy_graph *body, const pgy_node *call,
                               const pgy_onnx_function *f, pgy_error *err)
{
    for (size_t i = 0; i < call->output_count; i++) {
        results[i] = pgy_graph_find_value(body, f->outputs[i]);
        for (size_t k = 0; k < f->input_count; k++) /* the result may be an input of the function */
            if (strcmp(f->outputs[i], f->inputs[k]) == 0)
                results[i] = k < call->input_count ? call->inputs[k] : NULL;
        if (!results[i] && call->outputs[i])
            return node_error(call, err, PGY_E_FORMAT,
                              "the function does not compute its output '%s'", f->outputs[i]);
    }
    return PGY_OK;
}

static pgy_status connect_outputs(inliner *in, pgy_graph *body, const pgy_node *call,
                                  pgy_value **results, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < call->output_count; i++) {
        pgy_value *from = results[i], *to = call->outputs[i];
        if (!to || from->graph != body) continue;
        replace_results(body, from, to);
        st = value_take_over(from, to, err);
        for (size_t k = i; k < call->output_count; k++)
            if (results[k] == from) results[k] = to;
    }
    if (!st) st = move_nodes(in, body, call, err);
    for (size_t i = 0; !st && i < call->output_count; i++)
        if (call->outputs[i] && results[i] != call->outputs[i])
            st = alias(in, results[i], call->outputs[i], err);
    return st;
}

static pgy_status inline_call(inliner *in, pgy_node *call, const pgy_onnx_function *f,
                              pgy_error *err)
{
    pgy_graph *body = NULL;
    arena *memory = &state_of(in->graph)->memory;
    pgy_value **results = arena_alloc_array(memory, f->output_count, sizeof *results);
    pgy_status st = results ? copy_body(&body, in, call, f, err) : graph_no_memory(err);
    if (!st) st = resolve(body, in, call, f, err);
    if (!st) st = find_results(results, body, call, f, err);
    if (!st) st = connect_inputs(body, call, f, err);
    if (!st) st = settle_inner(in, body, err);
    if (st) return st;
    if (in->choice && in->choice->paths) in->prefix = node_label(call);
    node_unlink(call);
    strmap values = level_take_values(body);
    st = connect_outputs(in, body, call, results, err);
    for (size_t i = 0; !st && i < values.count; i++) {
        pgy_value *v = values.entries[i].value;
        if (v->producer) st = move_value(in, v, err);
    }
    strmap_deinit(&values);
    in->prefix = NULL;
    in->calls++;
    return st;
}

/* ---- Levels --------------------------------------------------------------------------------- */

static pgy_status inline_level(inliner *in, pgy_graph *level, pgy_error *err)
{
    pgy_status st = PGY_OK;
    const size_t before = in->calls;
    in->level = in->list.level = level;
    in->list.count = 0;
    for (size_t i = 0; !st && i < level->node_count; i++) {
        pgy_node *n = level->nodes[i];
        st = node_prepare(n, err);
        if (st) break;
        graph_function *f = node_box_of(n)->function;
        st = f && can_inline(in, n, f) ? inline_call(in, n, f->proto, err)
                                       : splice_keep(&in->list, n, err);
    }
    if (!st && in->calls != before) st = splice_install(&in->list, err);
    for (size_t i = 0; !st && i < level->node_count; i++)
        for (size_t k = 0; !st && k < level->nodes[i]->subgraph_count; k++)
            st = inline_level(in, level->nodes[i]->subgraphs[k], err);
    return st;
}

static bool has_calls(const pgy_graph *g)
{
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_node *n = g->nodes[i];
        if (node_box_of(n)->function) return true;
        for (size_t k = 0; k < n->subgraph_count; k++)
            if (has_calls(n->subgraphs[k])) return true;
    }
    return false;
}

/* ---- What the model declares ---------------------------------------------------------------- */

/* Adds imports of functions that the model lacks; all levels share one list. */
static pgy_status import_domains(pgy_graph *g, pgy_error *err)
{
    graph_state *s = state_of(g);
    graph_level *top = level_of(g);
    pgy_onnx_opset *const *old = top->opsets;
    size_t count = top->opset_count, most = count;
    for (size_t i = 0; i < s->functions.count; i++) {
        const graph_function *f = s->functions.entries[i].value;
        most += f->proto->opset_import_count;
    }
    pgy_onnx_opset **list = pgy_model_alloc(g->model, most + 1, sizeof *list);
    if (!list) return graph_no_memory(err);
    if (count) memcpy(list, old, count * sizeof *list);
    top->opsets = list;
    for (size_t i = 0; i < s->functions.count; i++) {
        const graph_function *f = s->functions.entries[i].value;
        for (size_t k = 0; k < f->proto->opset_import_count; k++) {
            if (pgy_graph_opset(g, f->proto->opset_imports[k]->domain)) continue;
            list[count++] = f->proto->opset_imports[k];
            top->opset_count = count;
        }
    }
    for (size_t i = 0; i < s->level_count; i++) {
        graph_level *level = level_of(s->levels[i]);
        if (level->opsets != old) continue;
        level->opsets = list;
        level->opset_count = count;
    }
    return PGY_OK;
}

static pgy_status take_names(inliner *in, pgy_error *err)
{
    const graph_state *s = state_of(in->graph);
    for (size_t i = 0; i < s->level_count; i++) {
        const strmap *values = &level_of(s->levels[i])->values;
        if (level_of(s->levels[i])->is_function) continue;
        for (size_t k = 0; k < values->count; k++)
            if (!strmap_put(&in->taken, values->entries[k].key, values->entries[k].value))
                return graph_no_memory(err);
    }
    return PGY_OK;
}

pgy_status graph_inline_calls(pgy_graph *g, const inline_choice *choice, size_t *calls,
                              pgy_error *err)
{
    inliner in = {.graph = g, .choice = choice};
    graph_state *s = state_of(g);
    pgy_status st = PGY_OK;
    *calls = 0;
    if (s->functions.count == 0) return PGY_OK;
    st = take_names(&in, err);
    if (!st && !(choice && choice->any_opset)) st = import_domains(g, err);
    /* Repeat, because inlined bodies may contain calls. */
    for (size_t depth = 0, before = SIZE_MAX; !st && before != in.calls && depth < GRAPH_MAX_DEPTH;
         depth++) {
        before = in.calls;
        st = inline_level(&in, g, err);
    }
    if (!st && in.calls) graph_mark_changed(g);
    if (!st && in.calls && !has_calls(g)) strmap_deinit(&s->functions);
    strmap_deinit(&in.taken);
    splice_deinit(&in.list);
    *calls = in.calls;
    return st;
}
