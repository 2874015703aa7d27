/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises normalisations. Searches from the division by the root back to the normalised value,
 * then forward over scale and shift. */
#include "transform/pattern_norm.h"

#include "base/alloc.h"

enum { MAX_ROW = 1 << 20, MAX_STEPS = 16 };

/* ---- Means ---------------------------------------------------------------------------------- */

/* Does `reduce` reduce exactly the last axes? *axis: the first of them. */
static bool read_axis(int32_t *axis, pattern *p, const pgy_node *reduce)
{
    const pgy_onnx_attribute *a = node_attribute(reduce, "axes");
    const int32_t rank = pattern_rank(reduce->inputs[0]);
    const int64_t *axes = a ? a->ints : NULL;
    size_t count = a ? a->int_count : 0;
    uint32_t seen = 0;
    if (rank < 1 || rank > 31) return false;
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

/* True if v has size 1 in all axes of x from `axis` on. */
static bool stays_as_one(const pgy_value *v, const pgy_value *x, int32_t axis)
{
    if (pattern_rank(v) != pattern_rank(x)) return false;
    for (int32_t d = 0; d < pattern_rank(v); d++)
        if (d < axis ? !pattern_same_size(v, d, x, d) : pattern_size(v, d) != 1) return false;
    return true;
}

/* Number of elements in a row of x; 0: not known. */
static double row_size(const pgy_value *x, int32_t axis)
{
    double size = 1;
    for (int32_t d = axis; d < pattern_rank(x); d++)
        size *= pattern_size(x, d) > 0 ? (double)pattern_size(x, d) : 0;
    return size;
}

/* If v is a mean over the last axes, which are kept as 1, returns its operand, else NULL; v may
 * have any consumers. *squared: v is the mean of squares. */
static pgy_value *mean_of(int32_t *axis, bool *squared, pattern *p, pgy_value *v)
{
    const pattern_product q = pattern_factors(p, v);
    pgy_value *sum = q.count == 1 ? q.values[0] : NULL;
    if (!sum || (sum != v && !pattern_is_inner(sum))) return NULL;
    const pgy_node *shape = pattern_from(sum, "Unsqueeze");
    if (!shape) shape = pattern_from(sum, "Reshape");
    if (shape && pattern_is_inner(shape->inputs[0])) sum = shape->inputs[0];
    const pgy_node *mean = pattern_from(sum, "ReduceMean"), *add = pattern_from(sum, "ReduceSum"),
                   *squares = pattern_from(sum, "ReduceSumSquare");
    const pgy_node *reduce = mean ? mean : add ? add : squares;
    if (!reduce || !read_axis(axis, p, reduce) || !stays_as_one(v, reduce->inputs[0], *axis))
        return NULL;
    const double size = mean ? 1 : row_size(reduce->inputs[0], *axis);
    *squared = squares != NULL;
    return size > 0 && pattern_close(v, q.factor * size, 1) ? reduce->inputs[0] : NULL;
}

/* The operand that n squares, or NULL. */
static pgy_value *squared_by(pattern *p, const pgy_node *n)
{
    if (pattern_is(n, "Mul")) return n->inputs[0] == n->inputs[1] ? n->inputs[0] : NULL;
    if (pattern_is(n, "ReduceSumSquare")) return n->inputs[0];
    return pattern_is(n, "Pow") && pattern_scalar_is(p, pattern_input(n, 1), 2) ? n->inputs[0]
                                                                                : NULL;
}

/* If v is a mean of squares without other users, returns the operand that is squared, else NULL. */
static pgy_value *mean_square_of(int32_t *axis, pattern *p, pgy_value *v)
{
    bool squared;
    pgy_value *x = pattern_is_inner(v) ? mean_of(axis, &squared, p, v) : NULL;
    if (!x || squared) return x;
    return pattern_is_inner(x) ? squared_by(p, x->producer) : NULL;
}

/* ---- The quotient --------------------------------------------------------------------------- */

/* Returns s if v = sqrt(s), else NULL. */
static pgy_value *root_of(pattern *p, const pgy_value *v)
{
    const pgy_node *root = pattern_from(v, "Sqrt"), *pow = pattern_from(v, "Pow");
    if (root) return root->inputs[0];
    return pow && pattern_scalar_is(p, pattern_input(pow, 1), 0.5) ? pow->inputs[0] : NULL;
}

/* The quotient x * gain / sqrt(s), with a constant gain; what is missing is NULL. */
typedef struct quotient {
    pgy_value *x, *gain, *s;
    const pgy_node *user; /* the node that reads x */
    size_t steps;
} quotient;

static bool take_apart(quotient *q, pattern *p, pgy_value *v, const pgy_node *user, bool below,
                       bool open);

static bool take_node(quotient *q, pattern *p, pgy_value *v, bool below)
{
    const pgy_node *n = v->producer;
    pgy_value *s = root_of(p, v);
    if (!s && pattern_is(n, "Pow") && pattern_scalar_is(p, pattern_input(n, 1), -0.5)) {
        s = n->inputs[0];
        below = !below;
    }
    if (s) {
        if (!below || q->s) return false;
        q->s = s;
        return true;
    }
    if (pattern_is(n, "Reciprocal")) return take_apart(q, p, n->inputs[0], n, !below, false);
    return take_apart(q, p, n->inputs[0], n, below, false) &&
           take_apart(q, p, n->inputs[1], n, pattern_is(n, "Div") ? !below : below, false);
}

/* May n be one of the nodes between x and the result of the division? */
static bool is_step(pattern *p, const pgy_node *n)
{
    return (n->input_count == 2 && (pattern_is(n, "Mul") || pattern_is(n, "Div"))) ||
           pattern_is(n, "Reciprocal") || pattern_is(n, "Sqrt") ||
           (pattern_is(n, "Pow") && (pattern_scalar_is(p, pattern_input(n, 1), 0.5) ||
                                     pattern_scalar_is(p, pattern_input(n, 1), -0.5)));
}

static bool take_apart(quotient *q, pattern *p, pgy_value *v, const pgy_node *user, bool below,
                       bool open)
{
    if (!v || ++q->steps > MAX_STEPS) return false;
    if (pattern_is_constant(p, v)) {
        if (pattern_scalar_is(p, v, 1)) return true;
        if (below || q->gain) return false;
        q->gain = v;
        return true;
    }
    if (v->producer && v->producer->graph == v->graph && (open || pattern_is_inner(v)) &&
        is_step(p, v->producer))
        return take_node(q, p, v, below);
    if (below || q->x) return false;
    q->x = v;
    q->user = user;
    return true;
}

/* ---- The variance --------------------------------------------------------------------------- */

/* Returns x if v is mean(x * x) - mean(x) * mean(x), clamped at 0, else NULL. */
static pgy_value *fast_variance(int32_t *axis, const pgy_value **mean, pattern *p, pgy_value *v)
{
    const pgy_node *most = pattern_inner(v, "Max"), *relu = pattern_inner(v, "Relu");
    bool squared;
    int32_t own;
    for (size_t i = 0; most && most->input_count == 2 && i < 2; i++)
        if (pattern_scalar_is(p, most->inputs[i], 0)) v = most->inputs[1 - i];
    if (relu) v = relu->inputs[0];
    const pgy_node *sub = pattern_inner(v, "Sub");
    pgy_value *x = sub ? mean_square_of(axis, p, sub->inputs[0]) : NULL;
    pgy_value *m =
        x && pattern_is_inner(sub->inputs[1]) ? squared_by(p, sub->inputs[1]->producer) : NULL;
    if (!m || mean_of(&own, &squared, p, m) != x || squared || own != *axis) return NULL;
    *mean = m;
    return x;
}

/* Recognises s = mean(x * x) + epsilon, or the fast variance plus epsilon; sets axis and epsilon.
 */
static bool read_spread(pattern_norm *m, pattern *p, pgy_value *s, pgy_value **x,
                        const pgy_value **mean)
{
    const pgy_node *add = pattern_inner(s, "Add");
    *mean = NULL;
    for (size_t i = 0; add && i < 2; i++) {
        if (!pattern_scalar(p, add->inputs[1 - i], &m->epsilon) || m->epsilon < 0) continue;
        *x = mean_square_of(&m->axis, p, add->inputs[i]);
        if (!*x) *x = fast_variance(&m->axis, mean, p, add->inputs[i]);
        return *x != NULL;
    }
    return false;
}

/* Returns x if d = x - mean(x) over the same axes, else NULL. */
static pgy_value *centred(const pattern_norm *m, pattern *p, const pgy_value *d,
                          const pgy_value **mean)
{
    const pgy_node *sub = pattern_from(d, "Sub");
    bool squared;
    int32_t axis;
    if (!sub || d->is_output || mean_of(&axis, &squared, p, sub->inputs[1]) != sub->inputs[0] ||
        squared || axis != m->axis)
        return NULL;
    *mean = sub->inputs[1];
    return sub->inputs[0];
}

bool pattern_norm_find(pattern_norm *out, pattern *p, pgy_node *n)
{
    quotient q = {0};
    pgy_value *x;
    const pgy_value *own, *mean;
    *out = (pattern_norm){.last = n};
    if (n->input_count != 2 || !pattern_is_float(n->outputs[0]) ||
        (!pattern_is(n, "Mul") && !pattern_is(n, "Div")) ||
        !take_apart(&q, p, n->outputs[0], NULL, false, true) || !q.s || !q.x ||
        !pattern_is_inner(q.s) || !read_spread(out, p, q.s, &x, &mean))
        return false;
    /* With a fast variance the dividend is x - mean(x), while the variance reads x itself. */
    if (mean ? centred(out, p, q.x, &own) != x || own != mean : x != q.x) return false;
    out->x = q.x;
    out->user = q.user;
    out->gain = q.gain;
    out->fast = mean != NULL;
    return true;
}

/* True if only the quotient and the square use d: the square once, or twice if it is a product.
 * With the fast variance only the quotient uses it. */
static bool used_for_norm_only(const pattern_norm *m, pattern *p, const pgy_value *d)
{
    size_t others = 0, products = 0, squares = 0;
    for (size_t i = 0; i < d->consumer_count; i++) {
        const pgy_node *n = d->consumers[i];
        const bool square = n != m->user && squared_by(p, n) == d;
        products += square && pattern_is(n, "Mul");
        squares += square;
        others += !square && n != m->user;
    }
    const size_t wanted = (m->user != NULL) + (m->fast ? 0 : products ? 2 : 1);
    return !others && d->consumer_count == wanted && (squares > 0) == !m->fast;
}

bool pattern_norm_centre(pattern_norm *m, pattern *p)
{
    const pgy_value *mean = NULL;
    pgy_value *x = centred(m, p, m->x, &mean);
    if (!x || !used_for_norm_only(m, p, m->x)) return false;
    m->x = x;
    return true;
}

/* ---- Scale and shift apart ------------------------------------------------------------------ */

/* If v is a Mul of w and another value, returns that value, else NULL. */
static pgy_value *times(const pgy_value *v, const pgy_value *w)
{
    const pgy_node *mul = pattern_inner(v, "Mul");
    for (size_t i = 0; mul && i < 2; i++)
        if (mul->inputs[i] == w) return mul->inputs[1 - i];
    return NULL;
}

/* Recognises v = shift - mean * w with a constant shift, in all its notations; returns the mean, or
 * NULL. */
static const pgy_value *read_offset(pgy_value **shift, const pattern *p, pgy_value *v,
                                    const pgy_value *w)
{
    const pgy_node *sub = pattern_inner(v, "Sub"), *add = pattern_inner(v, "Add");
    *shift = NULL;
    if (sub) {
        *shift = sub->inputs[0];
        return pattern_is_constant(p, *shift) ? times(sub->inputs[1], w) : NULL;
    }
    for (size_t i = 0; add && i < 2; i++) {
        const pgy_node *outer = pattern_inner(add->inputs[i], "Neg");
        const pgy_value *part = outer ? times(outer->inputs[0], w) : times(add->inputs[i], w);
        const pgy_node *inner = outer ? NULL : pattern_from(part, "Neg");
        *shift = add->inputs[1 - i];
        if (part && (outer || inner) && pattern_is_constant(p, *shift))
            return inner ? inner->inputs[0] : part;
    }
    return NULL;
}

/* Recognises n = x * w + (shift - mean * w) with w = gain / sqrt(s). */
static bool find_apart(pattern_norm *out, pattern *p, pgy_node *n, size_t i)
{
    const bool sub = pattern_is(n, "Sub");
    const pgy_node *product = pattern_inner(n->inputs[i], "Mul");
    pgy_value *shift = NULL, *d, *x;
    const pgy_value *mean, *own;
    for (size_t k = 0; product && k < 2; k++) {
        pgy_value *w = product->inputs[1 - k];
        quotient q = {0};
        *out = (pattern_norm){.last = n};
        mean = sub ? times(n->inputs[1], w) : read_offset(&shift, p, n->inputs[1 - i], w);
        if (!mean || w->consumer_count != 2 || w->is_output ||
            !take_apart(&q, p, w, NULL, false, true) || q.x || !q.s || !pattern_is_inner(q.s) ||
            !read_spread(out, p, q.s, &d, &own))
            continue;
        x = product->inputs[k];
        out->fast = own != NULL;
        if (own ? d != x || own != mean
                : centred(out, p, d, &own) != x || own != mean || !used_for_norm_only(out, p, d))
            continue;
        out->x = x;
        out->gain = q.gain;
        out->offset = shift;
        return true;
    }
    return false;
}

bool pattern_norm_find_apart(pattern_norm *out, pattern *p, pgy_node *n)
{
    if (n->input_count != 2 || !pattern_is_float(n->outputs[0])) return false;
    if (pattern_is(n, "Sub")) return find_apart(out, p, n, 0);
    return pattern_is(n, "Add") && (find_apart(out, p, n, 0) || find_apart(out, p, n, 1));
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

/* Reshapes constant v to exactly the axes of a row; NULL: its shape does not fit. */
static pgy_value *row_of(pattern *p, const pattern_norm *m, pgy_value *v)
{
    const int32_t rank = pattern_rank(m->x), length = rank - m->axis, own = pattern_rank(v);
    int64_t shape[PGY_MAX_RANK];
    if (!pattern_is_constant(p, v) || own < length || own > rank ||
        pattern_dtype(v) != pattern_dtype(m->x))
        return NULL;
    for (int32_t d = 0; d < own; d++) {
        const int64_t size = pattern_size(v, d);
        const int32_t at = d - (own - length); /* index of the axis within the row */
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

/* If the consumer of m->last combines it by `op` with a constant in the shape of a row, returns
 * that row, else NULL. */
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
    m->scale = m->gain ? row_of(p, m, m->gain) : take(p, m, "Mul");
    if (!m->scale && !m->gain) m->scale = ones(p, m);
    if (m->scale && m->offset)
        m->shift = row_of(p, m, m->offset);
    else if (m->scale && shift)
        m->shift = take(p, m, "Add");
    return m->scale && (m->shift || !m->offset);
}
