/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/guard.h"

#include <string.h>

#include "base/log.h"
#include "graph/guard_walk.h"

static const char LOG_PATH[] = "graph/guard.c";

enum { MAX_NODES = 64 };

/* Operators whose result is infinite or NaN where input `input` is 0. */
typedef struct division {
    const char *op_type;
    size_t input;
    bool inverts; /* true if the result is large where the input is small */
} division;

static const division DIVISIONS[] = {
    {"Div", 1, true},           {"Reciprocal", 0, true},      {"Pow", 0, true},  {"Log", 0, false},
    {"ReduceLogSum", 0, false}, {"QuantizeLinear", 1, false}, {"Mod", 1, false},
};

/* Operators with an epsilon of their own, applied in the type in which they compute.
 * LayerNormalization and RMSNormalization are not listed, because their definitions use epsilon in
 * float32.
 */
static const struct {
    const char *op_type, *attribute;
    int64_t until; /* last opset with this attribute; 0: all opsets */
    float fixed;
} EPSILONS[] = {
    {"BatchNormalization", "epsilon", 0, 0},       {"InstanceNormalization", "epsilon", 0, 0},
    {"GroupNormalization", "epsilon", 20, 0},      {"LRN", "bias", 0, 0},
    {"MeanVarianceNormalization", NULL, 0, 1e-9f},
};

void graph_guards_deinit(graph_guards *found)
{
    guard_bits_deinit(&found->nodes);
    id_marks_deinit(&found->numbers);
}

static bool has_bit(const graph_guards *found, const pgy_node *n, pgy_dtype half, unsigned bit)
{
    return guard_bits_get(&found->nodes, node_id(n)) & (half == PGY_F16 ? bit : 2 * bit);
}

bool graph_guard_keeps(const graph_guards *found, const pgy_node *n, pgy_dtype half)
{
    return has_bit(found, n, half, GUARD_KEEPS);
}

bool graph_guard_made(const graph_guards *found, const pgy_value *v, pgy_dtype half)
{
    const pgy_node *n = v->producer;
    if (n && node_is(n, "Cast") && n->inputs[0]) n = n->inputs[0]->producer;
    return n && has_bit(found, n, half, GUARD_MADE_LARGE);
}

static const division *division_by(const pgy_node *n)
{
    for (size_t i = 0; i < sizeof DIVISIONS / sizeof *DIVISIONS; i++)
        if (node_is(n, DIVISIONS[i].op_type)) return &DIVISIONS[i];
    return NULL;
}

/* ---- Divisions ------------------------------------------------------------------------------ */

static bool epsilon_guards(guard_walk *w, const pgy_node *n)
{
    for (size_t i = 0; i < sizeof EPSILONS / sizeof *EPSILONS; i++) {
        if (!node_is(n, EPSILONS[i].op_type) ||
            (EPSILONS[i].until && node_box_of(n)->opset > EPSILONS[i].until))
            continue;
        const char *name = EPSILONS[i].attribute;
        const pgy_onnx_attribute *a = name ? node_attribute(n, name) : NULL;
        const double number = (double)(a ? a->f : EPSILONS[i].fixed);
        return guard_is_too_small(w, number, (guard_place){.power = 1}) &&
               guard_found(w, node_label(n), number);
    }
    return false;
}

static bool division_is_guarded(guard_walk *w, pgy_node *n)
{
    const division *d = division_by(n);
    guard_place p = {.power = 1, .inverts = d && d->inverts};
    if (!d || n->input_count <= d->input || !n->inputs[d->input]) return false;
    if (node_is(n, "Pow")) {
        if (n->input_count < 2 || !guard_scalar(w, &p.power, n->inputs[1]) || p.power >= 0)
            return false;
        p.power = -p.power;
    }
    return guard_back(w, n->inputs[d->input], p);
}

static bool follow(guard_walk *w, const pgy_value *v, bool inverse);

/* Must consumer n of a result that is too large for 16 bits stay in float32, too? Sqrt and Log
 * bring such a number back into range, and so does Mul by an inverse: x * (1 / (norm + 1e-6)). */
static bool node_follows(guard_walk *w, const pgy_node *n, bool inverse)
{
    const bool follows = node_is(n, "Sqrt") || node_is(n, "Log") || (inverse && node_is(n, "Mul"));
    if (!n->output_count || !n->outputs[0] || --w->budget < 0) return false;
    if (!follows && !guard_moves(n)) return false;
    const bool ends = node_is(n, "Mul") || node_is(n, "Log");
    if (!ends && !follow(w, n->outputs[0], inverse) && !follows) return false;
    guard_keep(w, n);
    if (!node_is(n, "Log")) guard_set(w, n, GUARD_MADE_LARGE);
    return true;
}

/* Keeps consumers of v, which may be too large for 16 bits, in float32. `inverse`: v is 1 / x and
 * is used as a factor. */
static bool follow(guard_walk *w, const pgy_value *v, bool inverse)
{
    bool any = false;
    for (size_t i = 0; i < v->consumer_count; i++) any |= node_follows(w, v->consumers[i], inverse);
    return any;
}

/* Keeps division n, for which w has found a guard, in float32, with the nodes that need a result
 * beyond the range of 16 bits.
 */
static void keep_division(guard_walk *w, pgy_node *n)
{
    const division *d = division_by(n);
    guard_keep(w, n);
    if (!d || !d->inverts || !n->output_count || !n->outputs[0]) return;
    if (node_is(n, "Div") && n->inputs[0] == w->measured) return; /* x / norm(x) is never large */
    guard_set(w, n, GUARD_MADE_LARGE);
    w->budget = MAX_NODES;
    const pgy_value *over = node_is(n, "Div") ? n->inputs[0] : NULL;
    follow(w, n->outputs[0], !over || guard_is_constant(over));
}

static void tell(const guard_walk *w, const pgy_node *n)
{
    const char *type = pgy_dtype_name(w->half);
    if (strcmp(w->name, node_label(n)) == 0)
        LOG(INFO,
            "'%s' (%s) is not computed in %s: %g, its guard against 0, is too small for that type",
            node_label(n), n->op_type, type, w->number);
    else
        LOG(INFO,
            "'%s' (%s) and the nodes that lead to it from '%s' are not computed in %s: %g, the "
            "guard against 0 there, is too small for that type",
            node_label(n), n->op_type, w->name, type, w->number);
}

pgy_status graph_guard_mark(graph_guards *found, pgy_graph *g, pgy_dtype half, pgy_error *err)
{
    guard_walk w = {.found = found, .half = half, .err = err};
    for (size_t i = 0; !w.status && i < g->node_count; i++) {
        pgy_node *n = g->nodes[i];
        for (size_t k = 0; !w.status && k < n->subgraph_count; k++)
            w.status = graph_guard_mark(found, n->subgraphs[k], half, err);
        w.budget = MAX_NODES;
        w.measured = NULL;
        if (w.status || (!epsilon_guards(&w, n) && !division_is_guarded(&w, n)) || w.status)
            continue;
        keep_division(&w, n);
        tell(&w, n);
    }
    return w.status;
}
