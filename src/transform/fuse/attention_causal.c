/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises causal masks, in which each query sees the keys up to its own position, for any
 * lengths: constants, slices of constants from the first row and key on, Trilu of one number,
 * compared positions, and elementwise functions of such tensors. A tensor is tracked as the two
 * numbers that it holds on either side of the diagonal. */
#include "transform/fuse/attention.h"

#include <math.h>

enum { MAX_TRIANGLE = 1 << 24, MAX_STEPS = 16 };

/* a tensor [.., query, key] that is `inside` where key - query <= offset, else `outside` */
typedef struct triangle {
    double inside, outside;
    int64_t offset;
} triangle;

static bool read(triangle *t, pattern *p, pgy_value *v, size_t depth);

/* ---- Numbers -------------------------------------------------------------------------------- */

/* Reads the elements of a constant, bool ones too, as float64; the caller releases them. NULL: v is
 * not constant, or too large. */
static pgy_tensor *elements(pattern *p, pgy_value *v)
{
    pgy_tensor *stored = NULL, *wide = NULL;
    if (!pattern_is_constant(p, v) || pattern_dtype(v) == PGY_STRING ||
        !pattern_has_at_most(v, MAX_TRIANGLE))
        return NULL;
    if (fold_constant(&stored, &p->f, v, NULL) == PGY_OK && stored &&
        pgy_tensor_cast(&wide, pgy_tensor_view(stored), PGY_F64, NULL) != PGY_OK)
        wide = NULL;
    pgy_tensor_release(stored);
    return wide;
}

/* Reads a constant whose elements are all equal. */
static bool read_number(pattern *p, pgy_value *v, double *out)
{
    pgy_tensor *t = elements(p, v);
    const size_t count = t ? pgy_tensor_count(t) : 0;
    bool good = count > 0;
    const double *x = good ? op_f64(t) : NULL;
    for (size_t i = 1; good && i < count; i++) good = x[i] == x[0];
    if (good) *out = x[0];
    pgy_tensor_release(t);
    return good;
}

/* Does the same as read_number, also for a tensor that a node fills with one number at run time. */
static bool read_fill(pattern *p, pgy_value *v, double *out)
{
    const pgy_node *fill = pattern_from(v, "ConstantOfShape"), *expand = pattern_from(v, "Expand");
    const pgy_onnx_attribute *value = fill ? node_attribute(fill, "value") : NULL;
    pgy_tensor *stored = NULL, *wide = NULL;
    if (expand) return read_number(p, expand->inputs[0], out);
    if (!fill) return read_number(p, v, out);
    *out = 0;
    if (!value) return true;
    bool good = value->t &&
                pgy_onnx_tensor_load(&stored, v->graph->model, value->t, NULL) == PGY_OK &&
                pgy_tensor_count(stored) == 1 &&
                pgy_tensor_cast(&wide, pgy_tensor_view(stored), PGY_F64, NULL) == PGY_OK;
    if (good) *out = op_f64(wide)[0];
    pgy_tensor_release(stored);
    pgy_tensor_release(wide);
    return good;
}

static bool read_int(pattern *p, pgy_value *v, int64_t *out)
{
    const int64_t *list;
    size_t count;
    if (!pattern_ints(p, v, &list, &count) || count != 1) return false;
    *out = list[0];
    return true;
}

/* ---- Where triangles come from -------------------------------------------------------------- */

static bool has_two_axes(const pgy_value *v)
{
    for (int32_t d = 0; d < pattern_rank(v) - 2; d++)
        if (pattern_size(v, d) != 1) return false;
    return pattern_rank(v) >= 2;
}

static bool read_constant(triangle *t, pattern *p, pgy_value *v)
{
    const int64_t rows = pattern_size(v, -2), keys = pattern_size(v, -1);
    if (!has_two_axes(v) || rows < 2 || keys < 2 || rows > MAX_TRIANGLE / keys) return false;
    pgy_tensor *all = elements(p, v);
    bool good = all && pgy_tensor_count(all) == (size_t)(rows * keys);
    const double *x = good ? op_f64(all) : NULL;
    if (good) *t = (triangle){.inside = x[0], .outside = x[1]};
    for (int64_t i = 0; good && i < rows * keys; i++)
        good = x[i] == (i % keys <= i / keys ? t->inside : t->outside);
    pgy_tensor_release(all);
    return good;
}

static bool read_trilu(triangle *t, pattern *p, const pgy_node *n)
{
    double x;
    int64_t k = 0;
    pgy_value *shift = pattern_input(n, 1);
    if (!read_fill(p, n->inputs[0], &x) || (shift && !read_int(p, shift, &k)) || k < -1 || k > 1)
        return false;
    *t = pattern_int(n, "upper", 1) ? (triangle){0, x, k - 1} : (triangle){x, 0, k};
    return true;
}

/* True if a Slice starts at the first query and the first key, with steps of 1. */
static bool starts_at_front(pattern *p, const pgy_node *slice)
{
    const int64_t *starts, *steps;
    size_t count, step_count;
    if (!pattern_ints(p, pattern_input(slice, 1), &starts, &count)) return false;
    for (size_t i = 0; i < count; i++)
        if (starts[i] != 0) return false;
    if (!pattern_input(slice, 4)) return true;
    if (!pattern_ints(p, slice->inputs[4], &steps, &step_count)) return false;
    for (size_t i = 0; i < step_count; i++)
        if (steps[i] != 1) return false;
    return true;
}

/* ---- Places --------------------------------------------------------------------------------- */

static bool holds_places(pgy_dtype t)
{
    return t == PGY_I64 || t == PGY_I32 || t == PGY_F32 || t == PGY_F64;
}

/* Is v the positions 0, 1, ... plus *shift? Returns their axis, -1 (keys) or -2 (queries), or 0 if
 * v is something else. */
static int32_t read_places(pattern *p, pgy_value *v, int64_t *shift, size_t depth)
{
    static const char *const SAME[] = {"Unsqueeze", "Reshape", "Cast", "Identity"};
    pgy_value *x = NULL;
    int64_t first = -1, step = -1;
    const pgy_node *range = pattern_from(v, "Range"), *add = pattern_from(v, "Add");
    if (depth > MAX_STEPS || pattern_rank(v) < 1) return 0;
    for (int32_t d = 0; d < pattern_rank(v) - 2; d++)
        if (pattern_size(v, d) != 1) return 0;
    const bool column = pattern_rank(v) > 1 && pattern_size(v, -1) == 1;
    if (!column && pattern_rank(v) > 1 && pattern_size(v, -2) != 1) return 0;
    const int32_t axis = column ? -2 : -1;
    if (range)
        return read_int(p, range->inputs[0], &first) && read_int(p, range->inputs[2], &step) &&
                       first == 0 && step == 1
                   ? axis
                   : 0;
    for (size_t i = 0; add && i < 2; i++) {
        if (!read_int(p, add->inputs[i], &first) || first < -1 || first > 1) continue;
        *shift += first;
        return read_places(p, add->inputs[1 - i], shift, depth + 1) == axis ? axis : 0;
    }
    if (pattern_from(v, "Cast") && !holds_places(pattern_dtype(v))) return 0;
    for (size_t i = 0; !x && i < sizeof SAME / sizeof *SAME; i++)
        if (pattern_from(v, SAME[i])) x = v->producer->inputs[0];
    return x && read_places(p, x, shift, depth + 1) ? axis : 0;
}

/* Reads key + a <= query + b in all its notations. */
static bool read_comparison(triangle *t, pattern *p, const pgy_node *n, size_t depth)
{
    const bool less = pattern_is(n, "Less"), greater = pattern_is(n, "Greater"),
               most = pattern_is(n, "LessOrEqual"), least = pattern_is(n, "GreaterOrEqual");
    int64_t a = 0, b = 0;
    if (!less && !greater && !most && !least) return false;
    const int32_t x = read_places(p, n->inputs[0], &a, depth),
                  y = x ? read_places(p, n->inputs[1], &b, depth) : 0;
    if (!y || x == y) return false;
    /* the comparison is key < query + c or its opposite; <= adds 1 to c */
    const bool keys_first = x == -1, below = keys_first == (less || most);
    const int64_t distance = keys_first ? b - a : a - b;
    const bool equal_inside = below ? most || least : less || greater;
    *t = (triangle){below, !below, distance - !equal_inside};
    return true;
}

/* ---- Elements ------------------------------------------------------------------------------- */

static double apply(const char *op, double x, double y)
{
    switch (*op) {
    case 'A': return op[1] == 'd' ? x + y : x != 0 && y != 0;
    case 'S': return x - y;
    case 'M': return x * y;
    case 'E': return x == y;
    case 'G': return x > y;
    case 'L': return x < y;
    default: return x != 0 || y != 0; /* Or */
    }
}

/* Does input i have the full sizes of queries and keys, so that n does not broadcast it along these
 * axes? */
static bool keeps_axes(const pgy_node *n, size_t i)
{
    return pattern_same_size(n->inputs[i], -1, n->outputs[0], -1) &&
           pattern_same_size(n->inputs[i], -2, n->outputs[0], -2);
}

/* Reads an elementwise operation on a triangle and a number, which gives another triangle. */
static bool read_pair(triangle *t, pattern *p, const pgy_node *n, size_t depth)
{
    static const char *const OPS[] = {"Add", "And", "Sub", "Mul", "Equal", "Greater", "Less", "Or"};
    const char *op = NULL;
    double x;
    for (size_t i = 0; !op && i < sizeof OPS / sizeof *OPS; i++)
        if (pattern_is(n, OPS[i])) op = OPS[i];
    for (size_t i = 0; op && i < 2; i++) {
        if (!keeps_axes(n, 1 - i) || !read_fill(p, n->inputs[i], &x) ||
            !read(t, p, n->inputs[1 - i], depth))
            continue;
        t->inside = i ? apply(op, t->inside, x) : apply(op, x, t->inside);
        t->outside = i ? apply(op, t->outside, x) : apply(op, x, t->outside);
        return true;
    }
    return false;
}

static bool read_where(triangle *t, pattern *p, const pgy_node *n, size_t depth)
{
    double yes, no;
    if (!keeps_axes(n, 0) || !read_fill(p, n->inputs[1], &yes) ||
        !read_fill(p, n->inputs[2], &no) || !read(t, p, n->inputs[0], depth))
        return false;
    t->inside = t->inside != 0 ? yes : no;
    t->outside = t->outside != 0 ? yes : no;
    return true;
}

/* True if a view only adds or removes axes before the last two. */
static bool is_view(const pgy_node *n)
{
    static const char *const VIEWS[] = {"Unsqueeze", "Squeeze", "Reshape", "Expand", "Identity"};
    for (size_t i = 0; i < sizeof VIEWS / sizeof *VIEWS; i++)
        if (pattern_is(n, VIEWS[i])) return keeps_axes(n, 0) && has_two_axes(n->inputs[0]);
    return false;
}

static bool survives(double x)
{
    return x == 0 || x == 1 || isinf(x);
}

static bool read_cast(triangle *t, pattern *p, const pgy_node *n, size_t depth)
{
    if (!read(t, p, n->inputs[0], depth)) return false;
    if (pattern_dtype(n->outputs[0]) != PGY_BOOL)
        return survives(t->inside) && survives(t->outside) &&
               (pattern_is_float(n->outputs[0]) || (!isinf(t->inside) && !isinf(t->outside)));
    t->inside = t->inside != 0;
    t->outside = t->outside != 0;
    return true;
}

static bool read(triangle *t, pattern *p, pgy_value *v, size_t depth)
{
    const pgy_node *n = v->producer;
    if (depth > MAX_STEPS) return false;
    if (pattern_is_constant(p, v)) return read_constant(t, p, v);
    if (!n || n->graph != v->graph) return false;
    if (pattern_is(n, "Trilu")) return read_trilu(t, p, n);
    if (pattern_is(n, "Cast")) return read_cast(t, p, n, depth + 1);
    if (pattern_is(n, "Where")) return read_where(t, p, n, depth + 1);
    if (is_view(n) || (pattern_is(n, "Slice") && starts_at_front(p, n)))
        return read(t, p, n->inputs[0], depth + 1);
    if (pattern_is(n, "Not") && read(t, p, n->inputs[0], depth + 1)) {
        t->inside = t->inside == 0;
        t->outside = t->outside == 0;
        return true;
    }
    return read_comparison(t, p, n, depth + 1) || read_pair(t, p, n, depth + 1);
}

bool attention_mask_is_causal(pattern *p, const attention_mask *m, bool alone)
{
    triangle t;
    const double lowest = pattern_dtype(m->v) == PGY_F16 ? -65504 : -1e30,
                 most = alone ? lowest : -INFINITY;
    if (!has_two_axes(m->v) || !read(&t, p, m->v, 0) || t.offset != 0) return false;
    if (m->chooses)
        return (t.inside != 0) != m->opposite && (t.outside != 0) == m->opposite &&
               (alone || isinf(m->closed));
    const double sign = m->negative ? -m->factor : m->factor;
    return t.inside * sign == 0 && t.outside * sign <= most;
}
