/* SPDX-License-Identifier: Apache-2.0 */
/* Removes Reshapes around elementwise nodes. A region starts at a Reshape of rows [N, C] to [..,
 * C], continues over elementwise operators and Splits of the last axis, and ends at Reshapes to [N,
 * C] or another shape. The operators then work on [N, C] directly, and the superfluous Reshapes are
 * removed. */
#include <string.h>

#include "transform/pattern.h"

enum { MAX_NODES = 32, MAX_VALUES = 64, MAX_INPUTS = 8, MAX_USERS = 16 };

/* Elementwise in the first input; further inputs are bounds (Clip). */
static const char *const UNARY[] = {"Abs",         "Celu",
                                    "Clip",        "Cos",
                                    "Elu",         "Erf",
                                    "Exp",         "Gelu",
                                    "HardSigmoid", "HardSwish",
                                    "LeakyRelu",   "Log",
                                    "Mish",        "Neg",
                                    "Reciprocal",  "Relu",
                                    "Selu",        "Sigmoid",
                                    "Sign",        "Sin",
                                    "Softplus",    "Softsign",
                                    "Sqrt",        "Swish",
                                    "Tanh",        "ThresholdedRelu"};
static const char *const BINARY[] = {"Add", "Div", "Max", "Min", "Mul", "Pow", "Sub"};

/* The nodes and values between the Reshapes. */
typedef struct region {
    pattern *p;
    pgy_value *wide[MAX_VALUES], *flat[MAX_VALUES]; /* each value of the region: now ([.., C]), and
                                                       its replacement ([N, C]) */
    size_t count;
    pgy_node *nodes[MAX_NODES];
    pgy_node *ends[MAX_NODES];  /* Reshapes back to [N, C]; they are removed */
    pgy_node *views[MAX_NODES]; /* Reshapes to another shape; they will read [N, C] */
    size_t node_count, end_count, view_count;
} region;

/* ---- Looking -------------------------------------------------------------------------------- */

static bool is_one_of(const pgy_node *n, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (pattern_is(n, names[i])) return true;
    return false;
}

static bool is_unary(const pgy_node *n)
{
    return is_one_of(n, UNARY, sizeof UNARY / sizeof *UNARY);
}

static bool is_binary(const pgy_node *n)
{
    return n->input_count == 2 && is_one_of(n, BINARY, sizeof BINARY / sizeof *BINARY);
}

/* True for a Split of the last axis. */
static bool is_split(const pgy_node *n, const pgy_value *v)
{
    const int64_t axis = pattern_int(n, "axis", 0);
    return pattern_is(n, "Split") && n->inputs[0] == v &&
           (axis == -1 || axis == pattern_rank(v) - 1);
}

/* True for a Reshape whose result depends only on the order of the elements, not on the input
 * shape. */
static bool is_view(const region *r, const pgy_node *n, const pgy_value *v)
{
    const int64_t *shape;
    size_t count;
    if (!pattern_is(n, "Reshape") || n->input_count != 2 || n->inputs[0] != v ||
        !pattern_ints(r->p, n->inputs[1], &shape, &count))
        return false;
    for (size_t i = 0; i < count; i++)
        if (shape[i] == 0) return false;
    return true;
}

/* True for a Reshape that keeps the last axis, so that its rows stay the same. */
static bool shows_rows(const pgy_node *n, const pgy_value *in, int32_t in_rank, int32_t out_rank)
{
    if (!pattern_is(n, "Reshape") || n->inputs[0] != in || !n->outputs[0]) return false;
    const pgy_value *out = n->outputs[0];
    return pattern_rank(in) >= 2 && pattern_rank(out) >= 2 &&
           (in_rank ? pattern_rank(in) == in_rank : pattern_rank(in) > 2) &&
           (out_rank ? pattern_rank(out) == out_rank : pattern_rank(out) > 2) &&
           pattern_same_size(in, -1, out, -1) && pattern_size(in, -1) > 0;
}

static size_t find(const region *r, const pgy_value *v)
{
    size_t i = 0;
    while (i < r->count && r->wide[i] != v) i++;
    return i;
}

/* A constant that broadcasts along all axes but the last, so that it fits [N, C], too. */
static bool is_row_constant(const region *r, const pgy_value *v, const pgy_value *like)
{
    const int32_t rank = pattern_rank(v);
    if (!v || !pattern_is_constant(r->p, v) || rank < 0 || rank > pattern_rank(like)) return false;
    for (int32_t d = 2; d <= rank; d++)
        if (pattern_size(v, -d) != 1) return false;
    return rank == 0 || pattern_size(v, -1) == 1 || pattern_same_size(v, -1, like, -1);
}

/* True if every input is a value of the region or a constant. */
static bool is_inside(const region *r, const pgy_node *n)
{
    const pgy_value *y = n->outputs[0];
    if (pattern_is(n, "Split"))
        return n->input_count < 2 || pattern_is_constant(r->p, n->inputs[1]);
    for (size_t i = 0; i < n->input_count; i++) {
        const pgy_value *v = n->inputs[i];
        const bool inside = v && find(r, v) < r->count;
        if (inside ? !pattern_same_shape(v, y) : v && !is_row_constant(r, v, y)) return false;
        if (i && v && is_unary(n) && (pattern_rank(v) != 0 || find(r, v) != r->count)) return false;
    }
    return true;
}

static bool has_node(const region *r, const pgy_node *n)
{
    for (size_t i = 0; i < r->node_count; i++)
        if (r->nodes[i] == n) return true;
    return false;
}

/* Adds n, a consumer of the region's value v, if its outputs have the same rows as v. */
static bool add_node(region *r, pgy_node *n, const pgy_value *v)
{
    const bool splits = pattern_is(n, "Split");
    if (has_node(r, n)) return true;
    if (r->node_count == MAX_NODES || r->count + n->output_count > MAX_VALUES ||
        (!splits && n->output_count != 1))
        return false;
    r->nodes[r->node_count++] = n;
    for (size_t i = 0; i < n->output_count; i++) {
        pgy_value *y = n->outputs[i];
        if (!y || y->is_output ||
            !(splits ? pattern_rank(y) == pattern_rank(v) : pattern_same_shape(y, v)))
            return false;
        r->wide[r->count++] = y;
    }
    return true;
}

static bool add_user(region *r, pgy_node *user, const pgy_value *v)
{
    if (shows_rows(user, v, 0, 2) && !user->outputs[0]->is_output) {
        if (r->end_count == MAX_NODES) return false;
        r->ends[r->end_count++] = user;
        return true;
    }
    if (is_view(r, user, v)) {
        if (r->view_count == MAX_NODES) return false;
        r->views[r->view_count++] = user;
        return true;
    }
    return (is_unary(user) || is_binary(user) || is_split(user, v)) && add_node(r, user, v);
}

/* Adds the consumers of each value in turn; false: one of them needs the shape [.., C]. */
static bool grow(region *r)
{
    for (size_t i = 0; i < r->count; i++) {
        const pgy_value *v = r->wide[i];
        if (v->consumer_count > MAX_USERS || v->consumer_count == 0) return false;
        for (size_t k = 0; k < v->consumer_count; k++) {
            pgy_node *user = v->consumers[k];
            if (user->graph != v->graph || user->output_count == 0) return false;
            if (!add_user(r, user, v)) return false;
        }
    }
    for (size_t i = 0; i < r->node_count; i++)
        if (!is_inside(r, r->nodes[i])) return false;
    return r->end_count + r->view_count > 0;
}

/* ---- Making --------------------------------------------------------------------------------- */

/* The replacement of input v in [N, C]. A constant of more than two axes is reshaped to one axis.
 */
static pgy_value *operand(region *r, pgy_value *v)
{
    const size_t at = v ? find(r, v) : r->count;
    if (at < r->count) return r->flat[at];
    if (!v || pattern_rank(v) <= 2) return v;
    const int64_t size = pattern_size(v, -1);
    return pattern_reshaped(r->p, v, 1, &size);
}

/* Creates all values before the nodes, because a node of the region may come before the producers
 * of its inputs. */
static void make_nodes(region *r)
{
    pattern *p = r->p;
    for (size_t i = 1; i < r->count; i++) {
        r->flat[i] = pattern_value(p, r->wide[i]->graph, r->wide[i]->name);
        if (!r->flat[i]) return;
    }
    for (size_t i = 0; i < r->node_count; i++) {
        pgy_node *n = r->nodes[i];
        pgy_value *inputs[MAX_INPUTS] = {0}, *outputs[MAX_VALUES];
        for (size_t k = 0; k < n->input_count; k++) inputs[k] = operand(r, n->inputs[k]);
        for (size_t k = 0; k < n->output_count; k++) outputs[k] = r->flat[find(r, n->outputs[k])];
        pgy_node *made =
            pattern_add_outputs(p, n, n->op_type, inputs, n->input_count, outputs, n->output_count);
        if (p->status) return;
        made->name = n->name;
        made->attributes = n->attributes;
        made->attribute_count = n->attribute_count;
        if (pattern_is(n, "Split")) pattern_set_int(p, made, "axis", 1);
        if (!p->status) p->status = node_prepare(made, p->err);
    }
}

/* Removes the Reshapes back to [N, C]; Reshapes to another shape now read [N, C]. */
static void take_out_ends(region *r)
{
    for (size_t i = 0; !r->p->status && i < r->end_count; i++) {
        pgy_node *end = r->ends[i];
        pgy_value *flat = r->flat[find(r, end->inputs[0])];
        r->p->status = value_replace_uses(end->outputs[0], flat, r->p->err);
        if (!r->p->status) pattern_drop(r->p, end);
    }
    for (size_t i = 0; !r->p->status && i < r->view_count; i++)
        r->p->status =
            node_set_input(r->views[i], 0, r->flat[find(r, r->views[i]->inputs[0])], r->p->err);
}

static bool flatten(pattern *p, pgy_node *n)
{
    region r = {.p = p};
    if (!n->input_count || !n->inputs[0] || !shows_rows(n, n->inputs[0], 2, 0) ||
        n->outputs[0]->is_output)
        return false;
    r.wide[r.count++] = n->outputs[0];
    r.flat[0] = n->inputs[0];
    if (!grow(&r) || r.node_count == 0) return false;
    for (size_t i = 0; i < r.node_count; i++)
        if (r.nodes[i]->input_count > MAX_INPUTS) return false;
    make_nodes(&r);
    take_out_ends(&r);
    p->made = NULL;
    return true;
}

pgy_status fold_flat(folder *f, pgy_graph *level, pgy_error *err)
{
    static const pattern_rule RULES[] = {flatten, NULL};
    if (f->options.keep_separate || level_of(level)->is_function) return PGY_OK;
    return pattern_fold_level(f, level, RULES, err);
}
