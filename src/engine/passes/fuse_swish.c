/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that are x times a function of x: Swish (SiLU, QuickGelu), HardSwish and Mish. */
#include "engine/pass.h"
#include "engine/pattern.h"

static bool put(pattern *p, pgy_node *n, const char *op, pgy_value *x)
{
    pattern_put(p, n, op, &x, 1);
    return true;
}

static bool is_swish(pattern *p, pgy_node *n, const pattern_product *q, pgy_value *x, pgy_value *v)
{
    const pgy_node *s = pattern_inner(v, "Sigmoid");
    if (!s || !pattern_close(v, q->factor, 1)) return false;
    double alpha = 1;
    if (s->inputs[0] != x) {
        if (!pattern_is_inner(s->inputs[0])) return false;
        const pattern_product u = pattern_factors(p, s->inputs[0]);
        if (u.count != 1 || u.values[0] != x) return false;
        alpha = u.factor;
    }
    pgy_node *made = pattern_put(p, n, "com.microsoft:QuickGelu", &x, 1);
    pattern_set_float(p, made, "alpha", alpha);
    return true;
}

/* x * HardSigmoid(x) with slope 1/6, or x * Clip(x + 3, 0, 6) / 6. */
static bool is_hard_swish(pattern *p, pgy_node *n, const pattern_product *q, pgy_value *x,
                          pgy_value *v)
{
    const pgy_node *s = pattern_inner(v, "HardSigmoid");
    if (pgy_graph_opset(n->graph, "") < 14) return false;
    if (s)
        return s->inputs[0] == x && pattern_close(v, q->factor, 1) &&
               pattern_close(v, pattern_float(s, "alpha", 0.2), 1.0 / 6) &&
               pattern_close(v, pattern_float(s, "beta", 0.5), 0.5) && put(p, n, "HardSwish", x);
    const pgy_node *clip = pattern_inner(v, "Clip");
    double low, high;
    if (!clip || !pattern_close(v, q->factor, 1.0 / 6) ||
        !pattern_scalar(p, pattern_input(clip, 1), &low) ||
        !pattern_scalar(p, pattern_input(clip, 2), &high) || low != 0 || high != 6)
        return false;
    const pgy_node *add = pattern_inner(clip->inputs[0], "Add");
    for (size_t i = 0; add && i < 2; i++)
        if (add->inputs[i] == x && pattern_scalar_is(p, add->inputs[1 - i], 3))
            return put(p, n, "HardSwish", x);
    return false;
}

static bool is_mish(pattern *p, pgy_node *n, const pattern_product *q, pgy_value *x, pgy_value *v)
{
    const pgy_node *t = pattern_inner(v, "Tanh");
    const pgy_node *s = t ? pattern_inner(t->inputs[0], "Softplus") : NULL;
    return s && s->inputs[0] == x && pattern_close(v, q->factor, 1) &&
           pgy_graph_opset(n->graph, "") >= 18 && put(p, n, "Mish", x);
}

static bool fuse(pattern *p, pgy_node *n)
{
    if ((!pattern_is(n, "Mul") && !pattern_is(n, "Div")) || !pattern_is_float(n->outputs[0]))
        return false;
    const pattern_product q = pattern_factors(p, n->outputs[0]);
    if (q.count != 2) return false;
    for (size_t i = 0; i < 2; i++) {
        pgy_value *x = q.values[i], *v = q.values[1 - i];
        if (is_swish(p, n, &q, x, v) || is_hard_swish(p, n, &q, x, v) || is_mish(p, n, &q, x, v))
            return true;
    }
    return false;
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {fuse, NULL};
    return pattern_run(g, "fuse_swish", RULES, changes, err);
}

const pass PASS_fuse_swish = {
    .name = "fuse_swish", .summary = "Swish, HardSwish and Mish written out", .run = run};
