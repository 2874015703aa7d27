/* SPDX-License-Identifier: Apache-2.0 */
/* From the quotient back to what is normalised, then forward over scale and shift. */
#include "transform/pattern_norm.h"

#include "base/alloc.h"

enum { MAX_ROW = 1 << 20 };

/* ---- The quotient --------------------------------------------------------------------------- */

/* s, if v = sqrt(s) */
static pgy_value *root_of(pattern *p, pgy_value *v)
{
    const pgy_node *root = pattern_inner(v, "Sqrt"), *pow = pattern_inner(v, "Pow");
    if (root) return root->inputs[0];
    return pow && pattern_scalar_is(p, pattern_input(pow, 1), 0.5) ? pow->inputs[0] : NULL;
}

/* s, if v = 1 / sqrt(s) */
static pgy_value *inverse_root_of(pattern *p, pgy_value *v)
{
    const pgy_node *one = pattern_inner(v, "Reciprocal"), *div = pattern_inner(v, "Div"),
                   *pow = pattern_inner(v, "Pow");
    if (one) return root_of(p, one->inputs[0]);
    if (div) return pattern_scalar_is(p, div->inputs[0], 1) ? root_of(p, div->inputs[1]) : NULL;
    return pow && pattern_scalar_is(p, pattern_input(pow, 1), -0.5) ? pow->inputs[0] : NULL;
}

/* Are the axes of a reduction the last ones, which stay as 1? */
static bool read_axis(int32_t *axis, pattern *p, const pgy_node *reduce)
{
    const pgy_onnx_attribute *a = node_attribute(reduce, "axes");
    const int32_t rank = pattern_rank(reduce->inputs[0]);
    const int64_t *axes = a ? a->ints : NULL;
    size_t count = a ? a->int_count : 0;
    uint32_t seen = 0;
    if (rank < 1 || rank > 31 || pattern_int(reduce, "keepdims", 1) != 1) return false;
    if (!a && !pattern_ints(p, pattern_input(reduce, 1), &axes, &count)) return false;
    for (size_t i = 0; i < count; i++) {
        const int64_t d = axes[i] < 0 ? axes[i] + rank : axes[i];
        if (d < 0 || d >= rank) return false;
        seen |= 1u << d;
    }
    const uint32_t all = (uint32_t)((1ull << rank) - 1);
    for (*axis = 0; *axis < rank; ++*axis)
        if (seen == (all & ~((1u << *axis) - 1))) return true;
    return false;
}

static bool is_square(pattern *p, const pgy_node *n, const pgy_value *x)
{
    if (pattern_is(n, "Mul")) return n->inputs[0] == x && n->inputs[1] == x;
    return pattern_is(n, "Pow") && n->inputs[0] == x &&
           pattern_scalar_is(p, pattern_input(n, 1), 2);
}

/* Is s = mean(x * x) + epsilon? */
static bool is_mean_square(pattern_norm *m, pattern *p, pgy_value *s)
{
    const pgy_node *add = pattern_inner(s, "Add");
    for (size_t i = 0; add && i < 2; i++) {
        const pgy_node *mean = pattern_inner(add->inputs[i], "ReduceMean");
        if (!mean || !pattern_scalar(p, add->inputs[1 - i], &m->epsilon) || m->epsilon < 0)
            continue;
        return pattern_is_inner(mean->inputs[0]) && is_square(p, mean->inputs[0]->producer, m->x) &&
               read_axis(&m->axis, p, mean);
    }
    return false;
}

bool pattern_norm_find(pattern_norm *out, pattern *p, pgy_node *n)
{
    *out = (pattern_norm){.last = n};
    if (n->input_count != 2 || !pattern_is_float(n->outputs[0])) return false;
    const bool div = pattern_is(n, "Div");
    if (!div && !pattern_is(n, "Mul")) return false;
    for (size_t i = 0; i < (div ? 1 : 2); i++) {
        pgy_value *root = n->inputs[1 - i];
        pgy_value *s = div ? root_of(p, root) : inverse_root_of(p, root);
        out->x = n->inputs[i];
        if (s && is_mean_square(out, p, s)) return true;
    }
    return false;
}

bool pattern_norm_centre(pattern_norm *m, pattern *p)
{
    const pgy_node *sub = pattern_from(m->x, "Sub");
    if (!sub || m->x->is_output) return false;
    const pgy_node *mean = pattern_inner(sub->inputs[1], "ReduceMean");
    int32_t axis;
    if (!mean || mean->inputs[0] != sub->inputs[0] || !read_axis(&axis, p, mean) || axis != m->axis)
        return false;
    /* The quotient and the square: two uses, or three if that is a product. */
    size_t others = 0, products = 0;
    for (size_t i = 0; i < m->x->consumer_count; i++) {
        const pgy_node *n = m->x->consumers[i];
        const bool square = n != m->last && is_square(p, n, m->x);
        products += square && pattern_is(n, "Mul");
        others += !square && n != m->last;
    }
    if (others || m->x->consumer_count != (products ? 3 : 2)) return false;
    m->x = sub->inputs[0];
    return true;
}

void pattern_norm_narrow(pattern_norm *m, pattern *p)
{
    const pgy_node *wide = pattern_from(m->x, "Cast");
    pgy_node *narrow = pattern_user(m->last);
    if (!p->standard || !wide || !pattern_is(narrow, "Cast") || pattern_dtype(m->x) != PGY_F32 ||
        pattern_dtype(wide->inputs[0]) != pattern_dtype(narrow->outputs[0]) ||
        !pattern_is_float(wide->inputs[0]))
        return;
    m->x = wide->inputs[0];
    m->last = narrow;
}

/* ---- Scale and shift ------------------------------------------------------------------------ */

/* The constant with exactly the axes of a row, or NULL: v has another shape. */
static pgy_value *row_of(pattern *p, const pattern_norm *m, pgy_value *v)
{
    const int32_t rank = pattern_rank(m->x), length = rank - m->axis, own = pattern_rank(v);
    int64_t shape[PGY_MAX_RANK];
    if (!pattern_is_constant(p, v) || own < length || own > rank ||
        pattern_dtype(v) != pattern_dtype(m->x))
        return NULL;
    for (int32_t d = 0; d < own; d++) {
        const int64_t size = pattern_size(v, d);
        const int32_t at = d - (own - length); /* in the row */
        if (at < 0 ? size != 1 : !pattern_same_size(v, d, m->x, m->axis + at)) return NULL;
        if (at >= 0) shape[at] = size;
    }
    return own == length ? v : pattern_reshaped(p, v, (size_t)length, shape);
}

static pgy_value *ones(pattern *p, const pattern_norm *m)
{
    int64_t shape[PGY_MAX_RANK];
    size_t rank = 0, count = 1;
    for (int32_t d = m->axis; d < pattern_rank(m->x); d++) {
        shape[rank] = pattern_size(m->x, d);
        if (shape[rank] < 1 || shape[rank] > MAX_ROW) return NULL;
        count *= (size_t)shape[rank++];
        if (count > MAX_ROW) return NULL;
    }
    double *values = arena_alloc_array(&p->f.memory, count, sizeof *values);
    if (!values) return NULL;
    for (size_t i = 0; i < count; i++) values[i] = 1;
    return pattern_weight(p, m->x->graph, "ones", pattern_dtype(m->x), rank, shape, values);
}

/* The constant row that the user of `last` combines it with. */
static pgy_value *take(pattern *p, pattern_norm *m, const char *op)
{
    pgy_node *user = pattern_user(m->last);
    pgy_value *other = pattern_is(user, op) ? pattern_other(user, m->last->outputs[0]) : NULL;
    pgy_value *row = other ? row_of(p, m, other) : NULL;
    if (row) m->last = user;
    return row;
}

bool pattern_norm_affine(pattern_norm *m, pattern *p, bool shift)
{
    m->scale = take(p, m, "Mul");
    if (!m->scale) m->scale = ones(p, m);
    if (m->scale && shift) m->shift = take(p, m, "Add");
    return m->scale != NULL;
}
