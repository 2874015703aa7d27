/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the nodes of a graph that the library cannot run. Each node is tested alone, including
 * nodes in called functions and subgraphs. Mismatched types and shapes, which only inference over
 * the whole graph finds, come from the findings of the checker. */
#include <string.h>

#include "graph/graph.h"
#include "ops/op.h"

#include <polygraphy/capability.h>

typedef struct searcher {
    graph_state *state;
    pgy_unsupported *items;
    size_t count, capacity;
    size_t index; /* index of the node of the main graph that is being searched */
    size_t depth;
    const call_chain *calls;
    strmap contradictions; /* path of a node -> its first error in inference */
} searcher;

static bool add(searcher *s, const char *trace, const pgy_node *n, const char *reason)
{
    if (s->count == s->capacity) {
        const size_t wanted = s->capacity ? 2 * s->capacity : 16;
        pgy_unsupported *items = arena_alloc_array(&s->state->memory, wanted, sizeof *items);
        if (!items) return false;
        if (s->count) memcpy(items, s->items, s->count * sizeof *items);
        s->items = items;
        s->capacity = wanted;
    }
    reason = arena_strdup(&s->state->memory, reason);
    s->items[s->count++] = (pgy_unsupported){.index = s->index,
                                             .trace = trace,
                                             .node = node_label(n),
                                             .op_type = n->op_type,
                                             .reason = reason};
    return reason != NULL;
}

static bool add_unknown(searcher *s, const char *trace, const pgy_node *n)
{
    char *text = arena_printf(
        &s->state->memory, "%s is not a known operator of domain '%s' in opset %lld", n->op_type,
        domain_is_default(n->domain) ? "ai.onnx" : n->domain, (long long)node_box_of(n)->opset);
    return text && add(s, trace, n, text);
}

static const char *extend(searcher *s, const char *trace, const pgy_node *n)
{
    return arena_printf(&s->state->memory, "%s%s%s (%s)", trace, *trace ? " -> " : "",
                        node_label(n), n->op_type);
}

static pgy_status search_level(searcher *s, pgy_graph *g, const char *trace, pgy_error *err);

static pgy_status search_call(searcher *s, pgy_node *n, const char *trace, pgy_error *err)
{
    graph_function *f = node_box_of(n)->function;
    pgy_graph *body = NULL;
    if (call_is_open(s->calls, f) || s->depth >= GRAPH_MAX_DEPTH)
        return add(s, trace, n, "the function calls itself, or function calls are nested too deep")
                   ? PGY_OK
                   : graph_no_memory(err);
    pgy_status st = function_body(&body, f, n->graph, err);
    if (st) return st;
    const call_chain call = {f, s->calls};
    s->calls = &call;
    s->depth++;
    st = search_level(s, body, trace, err);
    s->depth--;
    s->calls = call.outer;
    return st;
}

static pgy_status search_node(searcher *s, pgy_node *n, const char *trace, pgy_error *err)
{
    pgy_error failure = {0};
    const node_box *box = node_box_of(n);
    pgy_status st = node_prepare(n, &failure);
    if (st == PGY_E_MEMORY) return graph_no_memory(err);
    if (st) return add(s, trace, n, failure.text) ? PGY_OK : graph_no_memory(err);
    if (!box->function && !box->def)
        return add_unknown(s, trace, n) ? PGY_OK : graph_no_memory(err);
    if (!box->function && !box->has_refs && !node_constant(n)) {
        const op_node node = node_op(n);
        st = op_check_node(&node, &failure);
        if (st) return add(s, trace, n, failure.text) ? PGY_OK : graph_no_memory(err);
    }
    if (!box->function && !n->subgraph_count) return PGY_OK;
    const char *inner = extend(s, trace, n);
    if (!inner) return graph_no_memory(err);
    if (box->function) return search_call(s, n, inner, err);
    for (size_t i = 0; !st && i < n->subgraph_count; i++)
        st = search_level(s, n->subgraphs[i], inner, err);
    return st;
}

static pgy_status add_contradiction(searcher *s, const char *trace, const pgy_node *n,
                                    pgy_error *err)
{
    str path = {0};
    node_path(&path, n);
    const char *reason = strmap_get(&s->contradictions, str_text(&path));
    const bool ok = !path.failed && (!reason || add(s, trace, n, reason));
    str_deinit(&path);
    return ok ? PGY_OK : graph_no_memory(err);
}

static pgy_status search_level(searcher *s, pgy_graph *g, const char *trace, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->node_count; i++) {
        const size_t before = s->count;
        if (!g->parent && !level_of(g)->is_function) s->index = i;
        st = search_node(s, g->nodes[i], trace, err);
        if (!st && s->count == before) st = add_contradiction(s, trace, g->nodes[i], err);
    }
    return st;
}

/* ---- What inference finds ------------------------------------------------------------------- */

/* Failures in a function are reported at the call. */
static pgy_status find_contradictions(searcher *s, pgy_graph *g, pgy_error *err)
{
    finding_list findings = {0};
    const pgy_status st = graph_infer_all(g, &findings, err);
    bool ok = !findings.failed;
    for (size_t i = 0; !st && ok && i < findings.count; i++) {
        const pgy_finding *f = &findings.items[i];
        if (f->severity == PGY_LOG_ERROR && !strmap_has(&s->contradictions, f->path))
            ok = strmap_put(&s->contradictions, f->path, (void *)f->message);
    }
    strmap_deinit(&findings.seen);
    return !st && !ok ? graph_no_memory(err) : st;
}

pgy_status pgy_graph_capability(const pgy_unsupported **out, size_t *count, pgy_graph *g,
                                pgy_error *err)
{
    if (!out || !count || !g || g->parent)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'out' and 'count' must not be NULL, and 'g' must be a whole graph");
    searcher s = {.state = state_of(g)};
    const newer_versions before = s.state->newer;
    graph_set_newer(g, NEWER_TAKEN); /* accept newer operators and types, as the runtimes here do */
    pgy_status st = find_contradictions(&s, g, err);
    if (!st) st = search_level(&s, g, "", err);
    strmap_deinit(&s.contradictions);
    graph_set_newer(g, before);
    if (st) return st;
    *out = s.items;
    *count = s.count;
    return PGY_OK;
}

/* ---- The registry --------------------------------------------------------------------------- */

size_t pgy_operator_count(void)
{
    size_t count = op_table_count();
    while (op_sorted_at(count)) count++;
    return count;
}

static size_t most(uint8_t count, const op_def *d, int variadic)
{
    return d->flags & variadic ? SIZE_MAX : count;
}

pgy_status pgy_operator_at(pgy_operator *out, size_t i)
{
    const op_def *d = op_sorted_at(i);
    if (!d || !out) return PGY_E_NOT_FOUND;
    *out = (pgy_operator){
        .domain = d->domain,
        .name = d->name,
        .since = d->since,
        .deprecated = d->deprecated,
        .min_inputs = d->min_inputs,
        .max_inputs = most(d->max_inputs, d, OP_VARIADIC_INPUTS),
        .min_outputs = d->min_outputs,
        .max_outputs = most(d->max_outputs, d, OP_VARIADIC_OUTPUTS),
        .random = (d->flags & OP_RANDOM) != 0,
    };
    return PGY_OK;
}
