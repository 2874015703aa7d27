/* SPDX-License-Identifier: Apache-2.0 */
/* Slice: NumPy's start:end:step per axis. Version 1 takes attributes, since 10 they are inputs.
 * Bounds of constant dims are clamped exactly; symbolic ones are resolved where their order is
 * certain. */
#include "ops/class_check.h"
#include "ops/move.h"
#include "ops/rule.h"

static const op_attr_def ATTRS_1[] = {
    {"starts", OP_ATTR_INTS, true, NULL},
    {"ends", OP_ATTR_INTS, true, NULL},
    {"axes", OP_ATTR_INTS, false, NULL},
    {0},
};

static int64_t clamp(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

/* First index and number of elements of start:end:step in [0, size). */
static void resolve(int64_t size, int64_t start, int64_t end, int64_t step, int64_t *first,
                    int64_t *count)
{
    if (step < -INT64_MAX) step = -INT64_MAX;
    if (start < 0) start = start < -size ? -1 : start + size;
    if (end < 0) end = end < -size ? -1 : end + size;
    const bool forward = step > 0;
    start = forward ? clamp(start, 0, size) : clamp(start, -1, size - 1);
    end = forward ? clamp(end, 0, size) : clamp(end, -1, size - 1);
    const int64_t distance = forward ? end - start : start - end;
    const int64_t stride = forward ? step : -step;
    *first = start;
    *count = distance > 0 ? (distance - 1) / stride + 1 : 0;
}

/* min(v, size) for a bound v that is certainly >= 0. */
static dim limit(dim_table *t, dim v, dim size)
{
    if (dim_is_const(v) && v.value >= INT32_MAX) return size;
    if (rule_is_natural(t, dim_sub(t, size, v))) return v;
    if (rule_is_natural(t, dim_sub(t, v, size))) return size;
    return dim_min(t, v, size);
}

/* Converts a start or end that may count from the end: -k becomes max(0, size - k). False: the sign
 * is not certain. */
static bool from_front(dim_table *t, dim *v, dim size)
{
    if (rule_is_natural(t, *v)) return true;
    if (!rule_is_natural(t, dim_neg(t, *v))) return false;
    if (dim_is_const(*v) && v->value <= -INT32_MAX)
        *v = dim_const(0);
    else
        *v = dim_max(t, dim_const(0), dim_add(t, size, *v));
    return true;
}

static dim backward(dim_table *t, dim size, dim start, dim end, int64_t step)
{
    const bool whole = dim_is_const(start) && dim_is_const(end) && end.value <= -INT32_MAX &&
                       (start.value == -1 || start.value >= INT32_MAX) && step > -INT32_MAX;
    return whole ? dim_div_ceil(t, size, dim_const(-step))
                 : dim_unknown_upto(t, "it is a slice backwards along a symbolic dimension", size);
}

/* The length of start:end:step of a dimension. */
static dim length(dim_table *t, dim size, dim start, dim end, int64_t step)
{
    int64_t first, count;
    if (dim_is_const(size) && dim_is_const(start) && dim_is_const(end)) {
        resolve(size.value, start.value, end.value, step, &first, &count);
        return dim_const(count);
    }
    if (step < 0) return backward(t, size, start, end, step);
    if (dim_is_const(start) && start.value < 0 && start.value > -INT32_MAX && dim_is_const(end) &&
        end.value >= INT32_MAX) /* the last k */
        return dim_div_ceil(t, limit(t, dim_neg(t, start), size), dim_const(step));
    const bool from_end = !rule_is_natural(t, end); /* a bound from the end is at most size */
    if (!from_front(t, &start, size) || !from_front(t, &end, size))
        return dim_unknown_upto(t, "it is a slice with bounds whose sign is not known", size);
    const dim distance = dim_sub(t, from_end ? end : limit(t, end, size), start);
    const dim positive =
        rule_is_natural(t, distance) ? distance : dim_max(t, dim_const(0), distance);
    return dim_div_ceil(t, positive, dim_const(step));
}

/* The bounds and steps of all sliced axes; the lists live as long as the inference. */
typedef struct bounds {
    const dim *starts, *ends, *steps;
    size_t count, axes[PGY_MAX_RANK];
    bool known; /* all three lists are known */
    bool axes_known;
} bounds;

static pgy_status check_count(const op_node *n, const char *what, size_t count, size_t wanted,
                              pgy_error *err)
{
    if (count == wanted) return PGY_OK;
    return op_error(n, err, PGY_E_SHAPE, "the node has %zu starts, but %zu %s", wanted, count,
                    what);
}

static pgy_status read_steps(op_infer *c, bounds *b, pgy_error *err)
{
    size_t count;
    const rule_source source = rule_list(c, NULL, 4, &b->steps, &count);
    if (source == RULE_ABSENT) return PGY_OK;
    if (source == RULE_UNKNOWN) {
        b->known = false;
        return PGY_OK;
    }
    pgy_status st = check_count(c->node, "steps", count, b->count, err);
    for (size_t i = 0; i < count && !st; i++) {
        if (!dim_is_const(b->steps[i]))
            b->known = false;
        else if (b->steps[i].value == 0)
            st = op_error(c->node, err, PGY_E_SHAPE, "step %zu must not be 0", i);
    }
    return st;
}

static pgy_status read_bounds(op_infer *c, bounds *b, int32_t rank, pgy_error *err)
{
    const bool attrs = c->node->def->since < 10;
    const dim *axes;
    size_t ends, axis_count;
    const rule_source s = rule_list(c, attrs ? "starts" : NULL, 1, &b->starts, &b->count);
    const rule_source e = rule_list(c, attrs ? "ends" : NULL, 2, &b->ends, &ends);
    const rule_source a = rule_list(c, attrs ? "axes" : NULL, 3, &axes, &axis_count);
    pgy_status st = PGY_OK;
    b->known = s == RULE_KNOWN && e == RULE_KNOWN;
    if (s != RULE_KNOWN) { /* the other lists give the number of axes */
        b->count = e == RULE_KNOWN ? ends : axis_count;
        b->starts = NULL;
    }
    if (b->known) st = check_count(c->node, "ends", ends, b->count, err);
    b->axes_known = a == RULE_KNOWN || (a == RULE_ABSENT && (s == RULE_KNOWN || e == RULE_KNOWN));
    if (st || !b->axes_known) return st;
    if (a == RULE_KNOWN) {
        st = check_count(c->node, "axes", axis_count, b->count, err);
        if (!st) st = rule_dim_axes(b->axes, c->node, axes, axis_count, rank, err);
    } else {
        if ((int64_t)b->count > rank)
            return op_error(c->node, err, PGY_E_SHAPE,
                            "the node has %zu starts, but the input has rank %d", b->count, rank);
        for (size_t i = 0; i < b->count; i++) b->axes[i] = i;
    }
    return st ? st : read_steps(c, b, err);
}

static void propagate(op_infer *c, const bounds *b)
{
    const dim *values;
    size_t size;
    int64_t first, count;
    if (!rule_values(c, 0, &values, &size) || b->count > 1) return;
    if (b->count == 0) {
        rule_set_elements(c, 0, values, size);
        return;
    }
    const int64_t step = b->steps ? b->steps[0].value : 1;
    if (!dim_is_const(b->starts[0]) || !dim_is_const(b->ends[0])) return;
    resolve((int64_t)size, b->starts[0].value, b->ends[0].value, step, &first, &count);
    dim *elements = count <= RULE_MAX_ELEMENTS ? op_dims(c, (size_t)count + 1) : NULL;
    if (!elements) return;
    for (int64_t i = 0; i < count; i++) elements[i] = values[first + i * step];
    rule_set_elements(c, 0, elements, (size_t)count);
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[0];
    bounds b = {0};
    for (size_t i = 1; i < c->node->input_count; i++) {
        const pgy_status bad = rank_check(c, i, 1, 1, err);
        if (bad) return bad;
    }
    if (x->rank < 0) {
        op_set_unknown(c, 0, x->dtype, -1, "the shape of the input is not known");
        return PGY_OK;
    }
    pgy_status st = rule_check_rank(c->node, x->rank, err);
    if (!st) st = read_bounds(c, &b, x->rank, err);
    if (st) return st;
    if (!b.axes_known) {
        op_set_unknown(c, 0, x->dtype, x->rank, "the axes of the slice are computed at run time");
        return PGY_OK;
    }
    dim *dims = rule_copy_dims(c, x);
    if (!dims) return rule_no_memory(c->node, err);
    for (size_t i = 0; i < b.count; i++) {
        const size_t axis = b.axes[i];
        dims[axis] =
            b.known ? length(c->dims, x->dims[axis], b.starts[i], b.ends[i],
                             b.steps ? b.steps[i].value : 1)
                    : dim_unknown_upto(c->dims, "the bounds of a slice are computed at run time",
                                       x->dims[axis]);
    }
    op_set_output(c, 0, x->dtype, x->rank, dims);
    if (b.known) propagate(c, &b);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    const char *const names[] = {"starts", "ends", "axes", NULL};
    const bool attrs = c->node->def->since < 10;
    const int64_t *lists[4], *shape;
    size_t counts[4], which[PGY_MAX_RANK];
    pgy_tensor *x, *y;
    ptrdiff_t strides[PGY_MAX_RANK], offset = 0;
    move_box box;
    pgy_status st = rule_input(c, 0, &x, err);
    if (!st) st = rule_output(c, 0, &y, err);
    for (size_t i = 0; i < 4 && !st; i++)
        st = rule_eval_list(c, attrs ? names[i] : NULL, i + 1, &lists[i], &counts[i], err);
    if (st) return st;
    shape = pgy_tensor_shape(x);
    for (size_t i = 1; i < 4 && !st; i++)
        if (lists[i] || i == 1)
            st = check_count(c->node, names[i] ? names[i] : "steps", counts[i], counts[0], err);
    if (!st && counts[0] > pgy_tensor_rank(x))
        st = op_error(c->node, err, PGY_E_SHAPE,
                      "the node has %zu starts, but the input has rank %zu", counts[0],
                      pgy_tensor_rank(x));
    if (st) return st;
    for (size_t i = 0; i < PGY_MAX_RANK; i++) which[i] = i;
    if (lists[2])
        st = rule_axes(which, c->node, lists[2], counts[2], (int32_t)pgy_tensor_rank(x), err);
    if (st) return st;
    move_strides(strides, pgy_tensor_rank(x), shape);
    move_box_init(&box, pgy_tensor_rank(y), pgy_tensor_shape(y));
    for (size_t d = 0; d < box.rank; d++) box.from[d] = strides[d];
    for (size_t i = 0; i < counts[0]; i++) {
        const int64_t step = lists[3] ? lists[3][i] : 1;
        const size_t d = which[i];
        int64_t first, count;
        resolve(shape[d], lists[0][i], lists[1][i], step, &first, &count);
        if (count > 0) offset += first * strides[d];
        if (count > 1) box.from[d] = step * strides[d];
    }
    if (pgy_tensor_count(y))
        move_copy(pgy_tensor_data(y),
                  (const char *)pgy_tensor_data(x) +
                      offset * (ptrdiff_t)move_size(pgy_tensor_dtype(x)),
                  move_size(pgy_tensor_dtype(x)), &box);
    return move_own(y, err);
}

const op_def OP_slice[] = {
    RULE_ROW_FILLS("Slice", 1, 1, 1, ATTRS_1, infer, eval),
    RULE_ROW_FILLS("Slice", 10, 3, 5, NULL, infer, eval),
    {0},
};
