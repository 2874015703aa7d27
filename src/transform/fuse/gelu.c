/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises Gelu, with erf or tanh, in any order of factors and any split of constants: the final
 * product is decomposed and its factors are recognised. */
#include "transform/fuse/fuse.h"

static const double ROOT_HALF = 0.70710678118654752440, ROOT_2_BY_PI = 0.79788456080286535588;

/* Recognises inner v = factor * f + factor or factor * (f + 1); returns f and sets *factor, or
 * returns NULL. *sign is -1 if f is subtracted. */
static pgy_node *one_plus(pattern *p, pgy_value *v, const char *op, double *factor, double *sign)
{
    pgy_node *add = pattern_inner(v, "Add"), *sub = pattern_inner(v, "Sub");
    *sign = sub ? -1 : 1;
    if (sub && pattern_scalar(p, sub->inputs[0], factor) && pattern_is_inner(sub->inputs[1])) {
        const pattern_product q = pattern_factors(p, sub->inputs[1]);
        return q.count == 1 && pattern_close(v, q.factor, *factor) ? pattern_inner(q.values[0], op)
                                                                   : NULL;
    }
    for (size_t i = 0; add && i < 2; i++) {
        if (!pattern_scalar(p, add->inputs[i], factor) || !pattern_is_inner(add->inputs[1 - i]))
            continue;
        const pattern_product q = pattern_factors(p, add->inputs[1 - i]);
        if (q.count == 1 && pattern_close(v, q.factor, *factor))
            return pattern_inner(q.values[0], op);
    }
    return NULL;
}

/* Is v = factor * x? */
static bool is_multiple(pattern *p, pgy_value *v, const pgy_value *x, double factor)
{
    if (!pattern_is_inner(v)) return false;
    const pattern_product q = pattern_factors(p, v);
    return q.count == 1 && q.values[0] == x && pattern_close(v, q.factor, factor);
}

/* Is v = factor * x * x * x (power 3) or factor * x * x (power 2)? */
static bool is_power(pattern *p, pgy_value *v, const pgy_value *x, size_t power, double factor)
{
    if (!pattern_is_inner(v)) return false;
    const pattern_product q = pattern_factors(p, v);
    for (size_t i = 0; i < q.count && i < power; i++)
        if (q.values[i] != x) return false;
    return q.count == power && pattern_close(v, q.factor, factor);
}

/* Is `sum` = x + 0.044715 x^3 (whole), or 1 + 0.044715 x^2? */
static bool is_cubic(pattern *p, pgy_value *sum, pgy_value *x, bool whole)
{
    const pgy_node *add = pattern_inner(sum, "Add");
    for (size_t i = 0; add && i < 2; i++) {
        pgy_value *a = add->inputs[i], *b = add->inputs[1 - i];
        if (whole ? a == x && is_power(p, b, x, 3, 0.044715)
                  : pattern_scalar_is(p, a, 1) && is_power(p, b, x, 2, 0.044715))
            return true;
    }
    return false;
}

/* Is u = factor (x + 0.044715 x^3)? */
static bool is_tanh_argument(pattern *p, pgy_value *u, pgy_value *x, double factor)
{
    if (!pattern_is_inner(u)) return false;
    const pattern_product q = pattern_factors(p, u);
    if (!pattern_close(u, q.factor, factor)) return false;
    if (q.count == 1) return is_cubic(p, q.values[0], x, true);
    if (q.count != 2) return false;
    const size_t at = q.values[0] == x ? 0 : 1;
    return q.values[at] == x && is_cubic(p, q.values[1 - at], x, false);
}

static void put(pattern *p, pgy_node *n, pgy_value *x, bool exact)
{
    if (pgy_graph_opset(n->graph, "") < 20 && !p->standard) {
        pattern_put(p, n, exact ? "com.microsoft:Gelu" : "com.microsoft:FastGelu", &x, 1);
        return;
    }
    pgy_node *made = pattern_put(p, n, "Gelu", &x, 1);
    if (!exact) pattern_set_text(p, made, "approximate", "tanh");
}

/* Is f the erf or tanh of Gelu's argument for x, times `sign`? */
static bool is_gelu_of(pattern *p, const pgy_node *f, pgy_value *x, double sign)
{
    if (pattern_is(f, "Erf")) return is_multiple(p, f->inputs[0], x, sign * ROOT_HALF);
    return sign > 0 && is_tanh_argument(p, f->inputs[0], x, ROOT_2_BY_PI);
}

/* n = half x + half x f, where f is erf or tanh. */
static bool fuse_sum(pattern *p, pgy_node *n)
{
    for (size_t i = 0; i < 2; i++) {
        pgy_value *half = n->inputs[i], *rest = n->inputs[1 - i];
        const pattern_product q = pattern_factors(p, half), r = pattern_is_inner(rest)
                                                                    ? pattern_factors(p, rest)
                                                                    : (pattern_product){0};
        pgy_value *x = q.count == 1 ? q.values[0] : NULL;
        for (size_t k = 0;
             x && x != half && pattern_close(n->outputs[0], q.factor, 0.5) && r.count == 2 && k < 2;
             k++) {
            double own = r.factor;
            const pgy_node *f = pattern_from(r.values[1 - k], "Erf");
            if (!f) f = pattern_from(r.values[1 - k], "Tanh");
            if (r.values[k] == half) own *= q.factor;
            if (!f || !pattern_is_inner(r.values[1 - k]) ||
                (r.values[k] != half && r.values[k] != x) ||
                !pattern_close(n->outputs[0], own, 0.5) || !is_gelu_of(p, f, x, 1))
                continue;
            put(p, n, x, pattern_is(f, "Erf"));
            return true;
        }
    }
    return false;
}

/* x sigmoid(2 u), u being the argument of tanh */
static bool fuse_sigmoid(pattern *p, pgy_node *n, const pattern_product *q)
{
    for (size_t i = 0; p->standard && q->count == 2 && i < 2; i++) {
        const pgy_node *f = pattern_inner(q->values[1 - i], "Sigmoid");
        if (!f || !pattern_close(n->outputs[0], q->factor, 1) ||
            !is_tanh_argument(p, f->inputs[0], q->values[i], 2 * ROOT_2_BY_PI))
            continue;
        put(p, n, q->values[i], false);
        return true;
    }
    return false;
}

bool fuse_gelu(pattern *p, pgy_node *n)
{
    if (!pattern_is_float(n->outputs[0])) return false;
    if (pattern_is(n, "Add")) return fuse_sum(p, n);
    if (!pattern_is(n, "Mul") && !pattern_is(n, "Div")) return false;
    const pattern_product q = pattern_factors(p, n->outputs[0]);
    for (size_t i = 0; q.count == 2 && i < 2; i++) {
        double factor, sign;
        pgy_value *x = q.values[i], *v = q.values[1 - i];
        const pgy_node *f = one_plus(p, v, "Erf", &factor, &sign);
        if (!f) f = one_plus(p, v, "Tanh", &factor, &sign);
        if (!f || !pattern_close(v, factor * q.factor, 0.5) || !is_gelu_of(p, f, x, sign)) continue;
        put(p, n, x, pattern_is(f, "Erf"));
        return true;
    }
    return fuse_sigmoid(p, n, &q);
}
