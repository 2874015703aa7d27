/* SPDX-License-Identifier: Apache-2.0 */
/* Plans the main graph first, then its subgraphs and functions. A level that has a plan already,
 * such as a function that is called twice, is not planned again. */
#include "evaluate/plan.h"

#include <string.h>

typedef struct planner {
    graph_plan *plan;
    const call_chain *calls;
    str unknown; /* text for the error: operators without definition */
    strmap seen; /* the operators that `unknown` lists already */
    size_t depth;
} planner;

static pgy_status plan_level(planner *p, pgy_graph *g, pgy_error *err);

static pgy_status note_unknown(planner *p, const pgy_node *n, pgy_error *err)
{
    str key = {0};
    str_printf(&key, "%s:%s", n->domain, n->op_type);
    const bool known = strmap_has(&p->seen, str_text(&key));
    if (!known) {
        if (p->unknown.size) str_append(&p->unknown, ", ");
        str_printf(&p->unknown, "[Op: %s | Domain: %s | Opset: %lld | Node: %s]", n->op_type,
                   domain_is_default(n->domain) ? "ai.onnx" : n->domain,
                   (long long)node_box_of(n)->opset, node_label(n));
    }
    const bool kept = known || (!key.failed && strmap_put(&p->seen, str_text(&key), p));
    str_deinit(&key);
    return kept ? PGY_OK : graph_no_memory(err);
}

static bool assign_slots(level_plan *plan, graph_plan *whole)
{
    const strmap *values = &level_of(plan->graph)->values;
    plan->slot_count = values->count;
    for (size_t i = 0; i < values->count; i++) {
        const pgy_value *v = values->entries[i].value;
        uint32_t *slot = slot_table_at(&whole->slots, value_id(v));
        if (!slot) return false;
        *slot = (uint32_t)i;
    }
    return true;
}

static void count_use(level_plan *plan, const graph_plan *whole, const pgy_value *v)
{
    if (v && v->graph == plan->graph) plan->uses[plan_slot(whole, v)]++;
}

static void count_uses(level_plan *plan, const graph_plan *whole)
{
    const pgy_graph *g = plan->graph;
    for (size_t i = 0; i < g->node_count; i++) {
        const pgy_node *n = g->nodes[i];
        const node_box *box = node_box_of(n);
        for (size_t k = 0; k < n->input_count; k++) count_use(plan, whole, n->inputs[k]);
        for (size_t k = 0; k < box->captured_count; k++) count_use(plan, whole, box->captured[k]);
        if (n->input_count > plan->widest_node) plan->widest_node = n->input_count;
        if (n->output_count > plan->widest_node) plan->widest_node = n->output_count;
    }
    for (size_t i = 0; i < g->output_count; i++) count_use(plan, whole, g->outputs[i]);
}

static bool takes_narrow(const pgy_node *n, const pgy_value *v)
{
    const node_box *box = node_box_of(n);
    if (!box->def || box->function) return false;
    for (size_t i = 0; i < n->input_count; i++)
        if (n->inputs[i] == v && (i >= 32 || !(box->def->narrow_inputs >> i & 1))) return false;
    for (size_t i = 0; i < box->captured_count; i++)
        if (box->captured[i] == v) return false;
    return true;
}

/* Finds weights that stay float32: all operators that read them convert each element to float64
 * themselves. */
static void find_narrow(level_plan *plan, const pgy_graph *g)
{
    const strmap *values = &level_of(g)->values;
    for (size_t i = 0; i < values->count; i++) {
        const pgy_value *v = values->entries[i].value;
        const bool weight = v->initializer || (v->producer && node_constant(v->producer));
        bool narrow = weight && !v->is_output && v->consumer_count > 0;
        for (size_t k = 0; narrow && k < v->consumer_count; k++)
            narrow = v->consumers[k]->graph == g && takes_narrow(v->consumers[k], v);
        plan->narrow[i] = narrow;
    }
}

static pgy_status check_operator(const pgy_node *n, pgy_error *err)
{
    const node_box *box = node_box_of(n);
    const op_node node = node_op(n);
    /* A function call may still supply attributes that are missing here, so such nodes are not
     * checked. */
    return box->has_refs ? PGY_OK : op_check_node(&node, err);
}

static pgy_status plan_node(planner *p, pgy_node *n, pgy_error *err)
{
    node_box *box = node_box_of(n);
    pgy_graph *body = NULL;
    pgy_status st = node_prepare(n, err);
    if (st || node_constant(n)) return st;
    for (size_t i = 0; !st && i < n->subgraph_count; i++) st = plan_level(p, n->subgraphs[i], err);
    if (st) return st;
    if (!box->function) {
        if (box->def) return check_operator(n, err);
        return note_unknown(p, n, err);
    }
    if (call_is_open(p->calls, box->function) || p->depth > GRAPH_MAX_DEPTH)
        return node_error(n, err, PGY_E_FORMAT,
                          "the function calls itself, or function calls are nested too deep");
    const call_chain call = {box->function, p->calls};
    p->calls = &call;
    p->depth++;
    st = function_body(&body, box->function, n->graph, err);
    if (!st) st = plan_level(p, body, err);
    p->depth--;
    p->calls = call.outer;
    return st;
}

static pgy_status plan_level(planner *p, pgy_graph *g, pgy_error *err)
{
    arena *memory = &p->plan->memory;
    level_plan **place = level_plans_at(&p->plan->levels, level_id(g));
    if (place && *place) return PGY_OK;
    level_plan *plan = arena_alloc(memory, sizeof *plan);
    if (!place || !plan) return graph_no_memory(err);
    plan->graph = g;
    if (!assign_slots(plan, p->plan)) return graph_no_memory(err);
    plan->uses = arena_alloc_array(memory, plan->slot_count, sizeof *plan->uses);
    plan->narrow = arena_alloc_array(memory, plan->slot_count, sizeof *plan->narrow);
    if (!plan->uses || !plan->narrow) return graph_no_memory(err);
    pgy_status st = graph_order(&plan->order, g, memory, err);
    for (size_t i = 0; !st && i < g->node_count; i++) st = plan_node(p, g->nodes[i], err);
    if (st) return st;
    count_uses(plan, p->plan);
    find_narrow(plan, g);
    *place = plan;
    return PGY_OK;
}

static pgy_status finish(planner *p, pgy_status st, pgy_error *err)
{
    if (!st && p->seen.count)
        st = pgy_error_set(err, PGY_E_UNSUPPORTED,
                           "the reference does not implement %zu of the model's operators: %s",
                           p->seen.count, str_text(&p->unknown));
    str_deinit(&p->unknown);
    strmap_deinit(&p->seen);
    return st;
}

pgy_status plan_build(graph_plan *p, pgy_graph *g, pgy_error *err)
{
    planner x = {.plan = p};
    return finish(&x, plan_level(&x, g, err), err);
}

pgy_status plan_build_node(graph_plan *p, pgy_node *n, pgy_error *err)
{
    planner x = {.plan = p};
    return finish(&x, plan_node(&x, n, err), err);
}

void graph_plan_deinit(graph_plan *p)
{
    slot_table_deinit(&p->slots);
    level_plans_deinit(&p->levels);
    arena_deinit(&p->memory);
}

pgy_status plan_check(pgy_graph *g, pgy_error *err)
{
    graph_plan plan = {0};
    const pgy_status st = plan_build(&plan, g, err);
    graph_plan_deinit(&plan);
    return st;
}
