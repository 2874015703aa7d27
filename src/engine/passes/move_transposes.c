/* SPDX-License-Identifier: Apache-2.0 */
/* A Transpose that only moves axes of size 1 becomes a Reshape, which costs nothing. A Transpose
 * before an elementwise node moves behind it if another Transpose follows there; folding joins the
 * two. */
#include "engine/passes/pass.h"
#include "transform/pattern.h"

static bool read_order(size_t *order, const pgy_node *n, size_t rank)
{
    const pgy_onnx_attribute *perm = node_attribute(n, "perm");
    uint32_t seen = 0;
    if (rank > PGY_MAX_RANK || (perm && perm->int_count != rank)) return false;
    for (size_t i = 0; i < rank; i++) {
        const int64_t d = perm ? perm->ints[i] : (int64_t)(rank - 1 - i);
        if (d < 0 || d >= (int64_t)rank || seen >> d & 1) return false;
        seen |= 1u << d;
        order[i] = (size_t)d;
    }
    return true;
}

/* Does Transpose n keep all axes of x whose size is not 1 in order, so that no element moves? */
static bool keeps_order(const pgy_node *n, const pgy_value *x)
{
    size_t order[PGY_MAX_RANK], last = 0;
    const size_t rank = (size_t)pattern_rank(x);
    if (!read_order(order, n, rank)) return false;
    for (size_t i = 0; i < rank; i++) {
        if (pattern_size(x, (int32_t)order[i]) == 1) continue;
        if (order[i] < last) return false;
        last = order[i];
    }
    return true;
}

static bool become_reshape(pattern *p, pgy_node *n)
{
    int64_t shape[PGY_MAX_RANK];
    pgy_value *sizes = NULL, *x = pattern_input(n, 0);
    if (!pattern_is(n, "Transpose") || pattern_rank(x) < 1 ||
        pattern_rank(n->outputs[0]) != pattern_rank(x) || !keeps_order(n, x))
        return false;
    const op_value *y = fold_known(n->outputs[0]);
    if (!fold_constant_shape(shape, fold_known(x), y->dims, (size_t)y->rank) ||
        value_create_ints(&sizes, n->graph, "shape", shape, (size_t)y->rank, p->err))
        return false;
    pgy_value *inputs[] = {x, sizes};
    pattern_put(p, n, "Reshape", inputs, 2);
    return true;
}

static bool is_elementwise(pattern *p, const pgy_node *n, const pgy_value *x)
{
    static const char *const UNARY[] = {"Relu", "Gelu", "Sigmoid", "Tanh",
                                        "Erf",  "Sqrt", "Exp",     "com.microsoft:QuickGelu",
                                        "Neg",  "Abs",  "Cast",    "HardSwish"};
    static const char *const BINARY[] = {"Add", "Sub", "Mul", "Div"};
    double factor;
    for (size_t i = 0; n->input_count == 1 && i < sizeof UNARY / sizeof *UNARY; i++)
        if (pattern_is(n, UNARY[i])) return true;
    for (size_t i = 0; n->input_count == 2 && i < 4; i++)
        if (pattern_is(n, BINARY[i]))
            return pattern_scalar(p, pattern_other(n, x), &factor) &&
                   pattern_rank(pattern_other(n, x)) == 0;
    return false;
}

/* Does another Transpose follow t, with only elementwise nodes in between, whose results nothing
 * else uses? */
static bool is_awaited(pattern *p, const pgy_node *t)
{
    const pgy_node *n = t;
    for (int i = 0; i < 8; i++) {
        const pgy_node *user = pattern_user(n);
        if (!user || user->output_count != 1 || !user->outputs[0]) return false;
        if (pattern_is(user, "Transpose")) return i > 0;
        if (!is_elementwise(p, user, n->outputs[0])) return false;
        n = user;
    }
    return false;
}

static bool move_behind(pattern *p, pgy_node *t)
{
    pgy_node *f = pattern_is(t, "Transpose") && is_awaited(p, t) ? pattern_user(t) : NULL;
    if (!f) return false;
    pgy_value *made = value_create_unique(f->graph, f->outputs[0]->name, p->err);
    pgy_value *inputs[2] = {NULL, NULL};
    if (!made) return false;
    for (size_t i = 0; i < f->input_count; i++)
        inputs[i] = f->inputs[i] == t->outputs[0] ? t->inputs[0] : f->inputs[i];
    const char *op = f->op_type;
    if (!domain_is_default(f->domain))
        op = arena_printf(&p->f.state->memory, "%s:%s", f->domain, f->op_type);
    if (!op) return false;
    pgy_node *first = pattern_add(p, f, op, inputs, f->input_count, made);
    for (size_t i = 0; i < f->attribute_count; i++)
        pattern_copy(p, first, f, f->attributes[i]->name);
    pgy_node *second = pattern_put(p, f, "Transpose", &made, 1);
    pattern_copy(p, second, t, "perm");
    return true;
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {become_reshape, move_behind, NULL};
    return pattern_run(g, "move_transposes", RULES, changes, err);
}

const pass PASS_move_transposes = {
    .name = "move_transposes", .summary = "Transpose to where it costs less", .run = run};
