/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises GroupNormalization as exporters write it: a Reshape forms groups of channels, which
 * InstanceNormalization with ones and zeros, LayerNormalization or elementary nodes normalise; a
 * Reshape back, scale and shift follow. */
#include "transform/fuse/fuse.h"
#include "transform/pattern_norm.h"

enum { MAX_CHANNELS = 1 << 20 };

static bool is_all(pattern *p, pgy_value *v, double wanted)
{
    pgy_tensor *t = pattern_floats(p, v);
    bool good = t != NULL;
    for (size_t i = 0; good && i < pgy_tensor_count(t); i++) good = op_f64(t)[i] == wanted;
    pgy_tensor_release(t);
    return good;
}

/* If the only consumer of *last combines its result by `op` with a constant of one element per
 * channel, sets *last to that consumer and returns the constant; else NULL. */
static pgy_value *take(pattern *p, pgy_node **last, const char *op, const pgy_value *x)
{
    pgy_node *user = pattern_user(*last);
    pgy_value *v = pattern_is(user, op) ? pattern_other(user, (*last)->outputs[0]) : NULL;
    const int32_t rank = pattern_rank(v), behind = pattern_rank(x) - 2;
    const int64_t shape[1] = {pattern_size(x, 1)};
    if (!v || !pattern_is_constant(p, v) || rank < behind + 1 || rank > behind + 2 ||
        pattern_dtype(v) != pattern_dtype(x))
        return NULL;
    for (int32_t d = 0; d < rank; d++)
        if (pattern_size(v, d) != (d == rank - behind - 1 ? shape[0] : 1)) return NULL;
    pgy_value *made = pattern_reshaped(p, v, 1, shape);
    if (made) *last = user;
    return made;
}

/* Makes a weight with one element per channel of x, all equal to `number`. */
static pgy_value *fill(pattern *p, const pgy_value *x, double number)
{
    const int64_t channels = pattern_size(x, 1);
    double *values = arena_alloc_array(&p->f.memory, (size_t)channels, sizeof *values);
    if (!values) {
        p->status = graph_no_memory(p->err);
        return NULL;
    }
    for (int64_t i = 0; i < channels; i++) values[i] = number;
    return pattern_weight(p, x->graph, number == 0 ? "zeros" : "ones", pattern_dtype(x), 1,
                          &channels, values);
}

/* The shape input that reshapes x to the result of `last`; NULL: not expressible. */
static pgy_value *shape_from(pattern *p, const pgy_value *x, const pgy_node *last)
{
    const op_value *to = fold_known(last->outputs[0]);
    int64_t shape[PGY_MAX_RANK];
    if (to->rank < 1 || to->rank > PGY_MAX_RANK ||
        !fold_constant_shape(shape, fold_known(x), to->dims, (size_t)to->rank))
        return NULL;
    return pattern_list(p, last, x->name, shape, (size_t)to->rank);
}

/* Replaces the nodes where the result has another shape than x: scale and shift behind it then stay
 * separate nodes. */
static bool put_before(pattern *p, pgy_value *x, pgy_node *n, pgy_node *last, int64_t groups,
                       double epsilon)
{
    pgy_value *inputs[] = {x, fill(p, x, 1), fill(p, x, 0)}, *shape = shape_from(p, x, last);
    pgy_value *y = shape ? pattern_make(p, n, NULL, "GroupNormalization", inputs, 3) : NULL;
    if (!y) return false;
    pattern_set_int(p, y->producer, "num_groups", groups);
    pattern_set_float(p, y->producer, "epsilon", epsilon);
    return pattern_put(p, last, "Reshape", (pgy_value *const[]){y, shape}, 2) != NULL;
}

/* Normalised groups: over all axes of `rows` after the second, the mean is 0 and the variance 1. */
typedef struct groups {
    pgy_value *rows;
    pgy_node *last;
    double epsilon;
} groups;

static bool is_plain(pattern *p, const pgy_node *n)
{
    pgy_value *shift = pattern_input(n, 2);
    return is_all(p, n->inputs[1], 1) && (!shift || is_all(p, shift, 0));
}

/* Recognises InstanceNormalization, LayerNormalization, or elementary nodes for the latter. */
static bool find_groups(groups *g, pattern *p, pgy_node *n)
{
    pattern_norm m;
    *g = (groups){.rows = n->input_count ? n->inputs[0] : NULL, .last = n};
    if (pattern_is(n, "InstanceNormalization") && n->input_count == 3) {
        g->epsilon = pattern_float(n, "epsilon", 1e-5);
        return is_plain(p, n);
    }
    if (!p->standard) return false;
    if (pattern_is(n, "LayerNormalization")) {
        const int64_t axis = pattern_int(n, "axis", -1), rank = pattern_rank(g->rows);
        g->epsilon = pattern_float(n, "epsilon", 1e-5);
        return (axis == 2 || axis + rank == 2) && n->output_count == 1 && is_plain(p, n);
    }
    if (!pattern_norm_find(&m, p, n) || m.gain || !pattern_norm_centre(&m, p) || m.axis != 2)
        return false;
    *g = (groups){m.x, m.last, m.epsilon};
    return true;
}

bool fuse_group_norm(pattern *p, pgy_node *n)
{
    groups g;
    if (!pattern_is_float(n->outputs[0]) || pgy_graph_opset(n->graph, "") < 21 ||
        !find_groups(&g, p, n))
        return false;
    const pgy_node *before = pattern_from(g.rows, "Reshape");
    pgy_node *last = pattern_user(g.last);
    if (!before || g.rows->is_output || !pattern_is(last, "Reshape") ||
        last->inputs[0] != g.last->outputs[0])
        return false;
    pgy_value *x = before->inputs[0];
    const int64_t count = pattern_size(g.rows, 1), channels = pattern_size(x, 1);
    if (pattern_rank(x) < 3 || count < 1 || channels < 1 || channels > MAX_CHANNELS ||
        channels % count || !pattern_same_size(x, 0, g.rows, 0))
        return false;
    if (!pattern_same_shape(x, last->outputs[0]))
        return p->standard && put_before(p, x, g.last, last, count, g.epsilon);
    pgy_value *scale = take(p, &last, "Mul", x);
    pgy_value *shift = take(p, &last, "Add", x);
    if (!scale) scale = fill(p, x, 1);
    if (!shift) shift = fill(p, x, 0);
    if (!scale || !shift) return false;
    pgy_value *inputs[] = {x, scale, shift};
    pgy_node *made = pattern_put(p, last, "GroupNormalization", inputs, 3);
    pattern_set_int(p, made, "num_groups", count);
    pattern_set_float(p, made, "epsilon", g.epsilon);
    return true;
}
