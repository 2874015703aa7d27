/* SPDX-License-Identifier: Apache-2.0 */
/* Conditionals: two subgraphs that are filled while the conditional is open. Closing turns them
 * into one ONNX If. */
#include "engine/network/network.h"

enum { MAX_OUTPUTS = 64 };

struct pgy_conditional {
    pgy_network *net, *branches[2]; /* index 0: else, 1: then */
    pgy_value *condition;
    pgy_layer *condition_layer, *outputs[MAX_OUTPUTS];
    pgy_value *values[2][MAX_OUTPUTS];
    size_t output_count;
    bool closed;
};

pgy_status pgy_network_add_conditional(pgy_conditional **out, pgy_network *net,
                                       pgy_value *condition, pgy_error *err)
{
    builder b = build_with(net, PGY_LAYER_CONDITION, condition, err);
    if (!b.status && build_dtype(&b, condition) != PGY_BOOL)
        build_fail(&b, PGY_E_TYPE, "the condition is %s; expected bool",
                   pgy_dtype_name(condition->dtype));
    for (int32_t i = 0; !b.status && i < build_rank(&b, condition); i++)
        if (build_size(&b, condition, i) != 1)
            build_fail(&b, PGY_E_SHAPE, "the condition is not a scalar");
    if (b.status) return build_finish(&b, NULL);
    pgy_conditional *c = arena_alloc(&state_of(net->level)->memory, sizeof *c);
    if (!c) return network_no_memory(err);
    b.box->owner = c;
    pgy_status st = build_finish(&b, &c->condition_layer);
    if (!st) st = build_open_level(&c->branches[0], net, err);
    if (!st) st = build_open_level(&c->branches[1], net, err);
    if (st) return st;
    c->net = net;
    c->condition = condition;
    net->open_count++;
    *out = c;
    return PGY_OK;
}

pgy_network *pgy_conditional_branch(pgy_conditional *c, bool taken_if_true)
{
    return c->branches[taken_if_true];
}

/* Adds an Identity, so that callers find a layer: branches can read outer tensors without it. */
pgy_status pgy_conditional_add_input(pgy_layer **out, pgy_conditional *c, pgy_value *v,
                                     pgy_error *err)
{
    builder b = build_with(c ? c->net : NULL, PGY_LAYER_CONDITIONAL_INPUT, v, err);
    if (!b.status && c->closed) build_fail(&b, PGY_E_ARGUMENT, "its conditional is already closed");
    if (!b.status) b.box->owner = c;
    build_output(&b, build_emit(&b, "Identity", 1, v));
    return build_finish(&b, out);
}

static void check_branch(builder *b, const pgy_conditional *c, const pgy_value *v, bool branch)
{
    if (b->status) return;
    if (!v || !network_can_see(c->branches[branch], v) || !network_is_linked(v))
        build_fail(b, PGY_E_ARGUMENT, "tensor '%s' is not available in the branch for %s",
                   v ? v->name : "", branch ? "true" : "false");
}

pgy_status pgy_conditional_add_output(pgy_layer **out, pgy_conditional *c, pgy_value *if_true,
                                      pgy_value *if_false, pgy_error *err)
{
    pgy_layer *layer = NULL;
    builder b = build_start(c ? c->net : NULL, PGY_LAYER_CONDITIONAL_OUTPUT, err);
    if (b.status) return build_finish(&b, NULL);
    if (c->closed) build_fail(&b, PGY_E_ARGUMENT, "its conditional is already closed");
    check_branch(&b, c, if_true, true);
    check_branch(&b, c, if_false, false);
    if (!b.status) {
        b.inputs[b.input_count++] = if_true;
        b.inputs[b.input_count++] = if_false;
    }
    if (!b.status && (if_true->dtype != if_false->dtype || if_true->rank != if_false->rank))
        build_fail(&b, PGY_E_TYPE, "the two branches return different types or ranks");
    if (c->output_count == MAX_OUTPUTS)
        build_fail(&b, PGY_E_UNSUPPORTED, "a conditional has at most %d outputs", MAX_OUTPUTS);
    b.box->owner = c;
    const pgy_status st = build_finish(&b, &layer);
    if (st) return st;
    c->values[true][c->output_count] = if_true;
    c->values[false][c->output_count] = if_false;
    c->outputs[c->output_count++] = layer;
    if (out) *out = layer;
    return PGY_OK;
}

static pgy_status close_branch(builder *b, pgy_conditional *c, bool branch, pgy_error *err)
{
    *b = build_start(c->branches[branch], PGY_LAYER_CONDITIONAL, err);
    build_level_outputs(b, c->values[branch], c->output_count);
    return build_commit(b);
}

pgy_status pgy_conditional_close(pgy_conditional *c, pgy_error *err)
{
    static const char *const NAMES[] = {"else_branch", "then_branch"};
    if (!c || c->closed || !c->output_count || c->branches[0]->open_count ||
        c->branches[1]->open_count)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "the conditional cannot be closed: it is closed already, has no "
                             "outputs, or holds a loop or conditional that is open");
    builder inner[2], outer;
    pgy_graph *const levels[2] = {c->branches[0]->level, c->branches[1]->level};
    pgy_status st = close_branch(&inner[0], c, false, err);
    if (st) return st;
    st = close_branch(&inner[1], c, true, err);
    if (!st) {
        outer = build_start(c->net, PGY_LAYER_CONDITIONAL, err);
        pgy_value *condition = build_scalar(&outer, c->condition);
        pgy_node *n = build_node(&outer, "If", &condition, 1, c->output_count);
        build_attach(&outer, n, NAMES, levels, 2);
        st = build_commit(&outer);
        if (st) build_abandon(&inner[1]);
    }
    if (st) {
        build_abandon(&inner[0]);
        return st;
    }
    pgy_graph *g = c->net->level;
    pgy_node *const *nodes = g->nodes + outer.first_node;
    const size_t count = g->node_count - outer.first_node;
    pgy_node *made = nodes[count - 1];
    for (size_t i = 0; !st && i < c->output_count; i++)
        st = build_give(c->outputs[i], made->outputs[i], nodes, count, err);
    if (!st) st = build_give(c->condition_layer, NULL, nodes, count, err);
    if (!st) st = network_place_assertions(c->branches[0], err);
    if (!st) st = network_place_assertions(c->branches[1], err);
    c->closed = c->branches[0]->closed = c->branches[1]->closed = true;
    c->net->open_count--;
    return st;
}
