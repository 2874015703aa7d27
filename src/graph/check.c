/* SPDX-License-Identifier: Apache-2.0 */
/* What can be said of a model without a runtime: names, order, operators and attributes against
 * their definitions, types and shapes by inference, and what does not matter for any output. Each
 * finding names its node; a failure does not hide the next. */
#include <stdio.h>
#include <string.h>

#include "graph/graph.h"

void finding_add(finding_list *list, graph_state *s, pgy_severity severity, const pgy_node *n,
                 const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (list->count == list->capacity) {
        const size_t wanted = list->capacity ? 2 * list->capacity : 16;
        pgy_finding *items = arena_alloc_array(&s->memory, wanted, sizeof *items);
        if (!items) {
            list->failed = true;
            return;
        }
        if (list->count) memcpy(items, list->items, list->count * sizeof *items);
        list->items = items;
        list->capacity = wanted;
    }
    const char *message = arena_strdup(&s->memory, text);
    if (!message) {
        list->failed = true;
        return;
    }
    list->items[list->count++] = (pgy_finding){.severity = severity,
                                               .node = n ? node_label(n) : "",
                                               .op_type = n ? n->op_type : "",
                                               .message = message};
}

typedef struct checker {
    graph_state *state;
    finding_list list;
    strmap names;   /* of nodes */
    strmap domains; /* that lack an opset and were reported */
} checker;

/* ---- Names and order ------------------------------------------------------------------------ */

static bool check_name(checker *c, pgy_node *n)
{
    if (!n->name || !*n->name) return true;
    const pgy_node *other = strmap_get(&c->names, n->name);
    if (other)
        finding_add(&c->list, c->state, PGY_LOG_ERROR, n,
                    "Duplicate node name: '%s' is also the name of a node of type %s", n->name,
                    other->op_type);
    return other || strmap_put(&c->names, n->name, n);
}

static void check_order(checker *c, const pgy_node *n)
{
    for (size_t i = 0; i < n->input_count; i++) {
        const pgy_value *v = n->inputs[i];
        if (!v || v->graph != n->graph || !v->producer || v->producer->index < n->index) continue;
        finding_add(&c->list, c->state, PGY_LOG_ERROR, n,
                    "Nodes are not in topological order: input '%s' is computed by a later node",
                    v->name);
        return;
    }
}

/* ---- Operators ------------------------------------------------------------------------------ */

static bool is_defined(const op_def *def, const char *attribute)
{
    for (const op_attr_def *d = def->attrs; d && d->name; d++)
        if (strcmp(d->name, attribute) == 0) return true;
    return false;
}

static bool check_domain(checker *c, const pgy_node *n)
{
    if (pgy_graph_opset(n->graph, n->domain) || strmap_has(&c->domains, n->domain)) return true;
    finding_add(&c->list, c->state, domain_is_default(n->domain) ? PGY_LOG_ERROR : PGY_LOG_WARNING,
                n, "No opset import for domain '%s'", n->domain);
    return strmap_put(&c->domains, n->domain, c);
}

static void check_operator(checker *c, pgy_node *n)
{
    const node_box *box = node_box_of(n);
    if (box->function) return;
    if (!box->def) {
        finding_add(&c->list, c->state,
                    domain_is_default(n->domain) ? PGY_LOG_ERROR : PGY_LOG_WARNING, n,
                    "%s is not a known operator of domain '%s' in opset %lld", n->op_type,
                    domain_is_default(n->domain) ? "ai.onnx" : n->domain, (long long)box->opset);
        return;
    }
    if (box->def->deprecated && box->opset >= box->def->deprecated)
        finding_add(&c->list, c->state, PGY_LOG_ERROR, n, "%s is deprecated since opset %d",
                    n->op_type, box->def->deprecated);
    for (size_t i = 0; i < n->attribute_count; i++)
        if (!is_defined(box->def, n->attributes[i]->name))
            finding_add(&c->list, c->state, PGY_LOG_ERROR, n,
                        "Unrecognized attribute: '%s' for operator %s in opset %lld",
                        n->attributes[i]->name, n->op_type, (long long)box->opset);
}

static pgy_status check_level(checker *c, pgy_graph *g, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->node_count; i++) {
        pgy_node *n = g->nodes[i];
        pgy_error failure = {0};
        if (!check_name(c, n) || !check_domain(c, n)) return graph_no_memory(err);
        check_order(c, n);
        st = node_prepare(n, &failure);
        if (st == PGY_E_MEMORY) return pgy_error_set(err, st, "%s", failure.text);
        if (!st) check_operator(c, n); /* else inference meets the same failure and reports it */
        st = PGY_OK;
        for (size_t k = 0; !st && k < n->subgraph_count; k++)
            st = check_level(c, n->subgraphs[k], err);
    }
    return st;
}

/* ---- What does not matter ------------------------------------------------------------------- */

/* Marks what the outputs need, with a work list of nodes; node_box.mark is 1 for those. */
static pgy_status mark_needed(pgy_graph *g, arena *memory, pgy_error *err)
{
    graph_state *s = state_of(g);
    pgy_node **work = arena_alloc_array(memory, g->node_count, sizeof *work);
    size_t count = 0;
    if (!work) return graph_no_memory(err);
    s->epoch++;
    for (size_t i = 0; i < g->node_count; i++) node_box_of(g->nodes[i])->mark = 0;
    for (size_t i = 0; i < g->output_count; i++) {
        pgy_value *v = g->outputs[i];
        box_of(v)->seen = s->epoch;
        if (v->producer && v->producer->graph == g && !node_box_of(v->producer)->mark) {
            node_box_of(v->producer)->mark = 1;
            work[count++] = v->producer;
        }
    }
    while (count) {
        const pgy_node *n = work[--count];
        const node_box *box = node_box_of(n);
        for (size_t i = 0; i < n->input_count + box->captured_count; i++) {
            pgy_value *v = i < n->input_count ? n->inputs[i] : box->captured[i - n->input_count];
            if (!v) continue;
            box_of(v)->seen = s->epoch;
            if (!v->producer || v->producer->graph != g || node_box_of(v->producer)->mark) continue;
            node_box_of(v->producer)->mark = 1;
            work[count++] = v->producer;
        }
    }
    return PGY_OK;
}

static pgy_status check_unused(checker *c, pgy_graph *g, pgy_error *err)
{
    arena memory = {0};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < g->node_count; i++) st = node_captures(g->nodes[i], err);
    if (!st) st = mark_needed(g, &memory, err);
    arena_deinit(&memory);
    if (st) return st;
    for (size_t i = 0; i < g->node_count; i++)
        if (!node_box_of(g->nodes[i])->mark)
            finding_add(&c->list, c->state, PGY_LOG_INFO, g->nodes[i],
                        "Does not affect outputs, can be removed.");
    for (size_t i = 0; i < g->input_count; i++)
        if (box_of(g->inputs[i])->seen != c->state->epoch)
            finding_add(&c->list, c->state, PGY_LOG_INFO, NULL,
                        "Input: '%s' does not affect outputs, can be removed.", g->inputs[i]->name);
    return PGY_OK;
}

static pgy_status check_shapes(checker *c, pgy_graph *g, pgy_error *err)
{
    arena memory = {0};
    pgy_node **order = NULL;
    pgy_error cycle = {0};
    pgy_status st = graph_order(&order, g, &memory, &cycle);
    arena_deinit(&memory);
    if (st == PGY_E_FORMAT) {
        finding_add(&c->list, c->state, PGY_LOG_ERROR, NULL, "%s", cycle.text);
        return PGY_OK;
    }
    return st ? pgy_error_set(err, st, "%s", cycle.text) : graph_infer_all(g, &c->list, err);
}

pgy_status pgy_graph_check(const pgy_finding **out, size_t *count, pgy_graph *g, pgy_error *err)
{
    if (!out || !count || !g)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "a check needs a graph and where to put findings");
    checker c = {.state = state_of(g)};
    graph_reindex(g);
    if (g->node_count == 0)
        finding_add(&c.list, c.state, PGY_LOG_WARNING, NULL, "The model has no nodes");
    pgy_status st = check_level(&c, g, err);
    if (!st) st = check_shapes(&c, g, err);
    if (!st) st = check_unused(&c, g, err);
    strmap_deinit(&c.names);
    strmap_deinit(&c.domains);
    if (!st && c.list.failed) st = graph_no_memory(err);
    if (st) return st;
    *out = c.list.items;
    *count = c.list.count;
    return PGY_OK;
}
