/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that are x times a function of x: Swish (SiLU, QuickGelu), HardSwish and Mish. */
#include "transform/fuse/fuse.h"

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
    if (!pattern_fits_attribute(p, x, alpha)) return false;
    pgy_node *made = pattern_put(p, n, p->standard ? "Swish" : "com.microsoft:QuickGelu", &x, 1);
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

/* Recognises one form: n is the product of x and a certain function v of x. */
typedef bool (*product_form)(pattern *p, pgy_node *n, const pattern_product *q, pgy_value *x,
                             pgy_value *v);

static bool fuse(pattern *p, pgy_node *n, const product_form *forms)
{
    if ((!pattern_is(n, "Mul") && !pattern_is(n, "Div")) || !pattern_is_float(n->outputs[0]))
        return false;
    const pattern_product q = pattern_factors(p, n->outputs[0]);
    for (size_t i = 0; q.count == 2 && i < 2; i++)
        for (const product_form *form = forms; *form; form++)
            if ((*form)(p, n, &q, q.values[i], q.values[1 - i])) return true;
    return false;
}

bool fuse_swish(pattern *p, pgy_node *n)
{
    static const product_form FORMS[] = {is_swish, NULL};
    return fuse(p, n, FORMS);
}

bool fuse_hard_swish(pattern *p, pgy_node *n)
{
    static const product_form FORMS[] = {is_hard_swish, NULL};
    return fuse(p, n, FORMS);
}

bool fuse_mish(pattern *p, pgy_node *n)
{
    static const product_form FORMS[] = {is_mish, NULL};
    return fuse(p, n, FORMS);
}

bool fuse_swish_like(pattern *p, pgy_node *n)
{
    static const product_form FORMS[] = {is_swish, is_hard_swish, is_mish, NULL};
    return fuse(p, n, FORMS);
}
