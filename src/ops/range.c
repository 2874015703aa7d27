/* SPDX-License-Identifier: Apache-2.0 */
/* Range: start, start + delta, ... below limit (above it for a negative delta). Elements are
 * computed from their index, so that rounding does not accumulate. */
#include <math.h>

#include "ops/rule.h"

#define TYPES_RANGE "float32 float64 int16 int32 int64"

static const op_attr_def ATTRS_27[] = {
    {"stash_type", OP_ATTR_INT, false, "1"},
    {0},
};

/* Number of elements. Distance and step fit in 64 unsigned bits. */
static uint64_t count_ints(int64_t start, int64_t limit, int64_t delta)
{
    if (delta > 0 ? start >= limit : start <= limit) return 0;
    const uint64_t distance =
        delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    const uint64_t step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta;
    return (distance - 1) / step + 1;
}

/* Gives the output an unknown length. Its name takes longer to make than all else here, so callers
 * give it only where no other length is known. */
static pgy_status know_no_count(op_infer *c, dim *count)
{
    *count = dim_unknown(c->dims, "the bounds of a range are computed at run time");
    return PGY_OK;
}

static pgy_status infer_floats(op_infer *c, dim *count, pgy_error *err)
{
    double v[3];
    for (size_t k = 0; k < 3; k++) {
        const pgy_tensor *t = c->inputs[k].data;
        if (!t || pgy_tensor_dtype(t) != PGY_F64 || pgy_tensor_count(t) != 1)
            return know_no_count(c, count);
        v[k] = *(const double *)pgy_tensor_data(t);
    }
    const double n = ceil((v[1] - v[0]) / v[2]);
    if (v[2] == 0 || !(n < 0x1p53))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "the range from %g to %g in steps of %g never ends", v[0], v[1], v[2]);
    *count = dim_const(n > 0 ? (int64_t)n : 0);
    return PGY_OK;
}

static void propagate(op_infer *c, dim count, dim start, dim delta)
{
    if (c->shapes_only || !dim_is_const(count) || count.value > RULE_MAX_ELEMENTS) return;
    dim *elements = op_dims(c, (size_t)count.value + 1);
    if (!elements) return;
    for (int64_t i = 0; i < count.value; i++)
        elements[i] = dim_add(c->dims, start, dim_mul(c->dims, dim_const(i), delta));
    rule_set_elements(c, 0, elements, (size_t)count.value);
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const dim *v[3];
    size_t n;
    const pgy_dtype dtype = c->inputs[0].dtype;
    dim *count = op_dims(c, 1);
    if (!count) return rule_no_memory(c->node, err);
    op_set_output(c, 0, dtype, 1, count);
    if (pgy_dtype_is_float(dtype)) return infer_floats(c, count, err);
    for (size_t k = 0; k < 3; k++)
        if (!rule_values(c, k, &v[k], &n) || n != 1) return know_no_count(c, count);
    const dim start = *v[0], limit = *v[1], delta = *v[2];
    if (!dim_is_const(delta)) return know_no_count(c, count);
    if (delta.value == 0)
        return op_error(c->node, err, PGY_E_ARGUMENT, "input 2 (delta) must not be 0");
    if (dim_is_const(start) && dim_is_const(limit)) {
        const uint64_t total = count_ints(start.value, limit.value, delta.value);
        if (total > INT64_MAX)
            return op_error(c->node, err, PGY_E_SHAPE,
                            "the range has %llu elements, which is too many",
                            (unsigned long long)total);
        *count = dim_const((int64_t)total);
    } else if (delta.value > 0) {
        const dim distance = dim_sub(c->dims, limit, start);
        const dim forward = rule_is_natural(c->dims, distance)
                                ? distance
                                : dim_max(c->dims, dim_const(0), distance);
        *count = dim_div_ceil(c->dims, forward, delta);
    }
    propagate(c, *count, start, delta);
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *start, *delta, *y;
    pgy_status st = rule_input(c, 0, &start, err);
    if (!st) st = rule_input(c, 2, &delta, err);
    if (!st) st = rule_output(c, 0, &y, err);
    if (st) return st;
    const size_t count = pgy_tensor_count(y);
    const pgy_dtype storage = pgy_tensor_dtype(y);
    if (pgy_tensor_dtype(start) != storage || pgy_tensor_dtype(delta) != storage)
        return op_error(c->node, err, PGY_E_TYPE, "start, limit and delta must have the same type");
    if (storage == PGY_F64) {
        const double first = *(const double *)pgy_tensor_data(start),
                     step = *(const double *)pgy_tensor_data(delta);
        double *to = pgy_tensor_data(y);
        for (size_t i = 0; i < count; i++) to[i] = first + (double)i * step;
    } else {
        const uint64_t first = *(const uint64_t *)pgy_tensor_data(start),
                       step = *(const uint64_t *)pgy_tensor_data(delta);
        uint64_t *to = pgy_tensor_data(y);
        for (size_t i = 0; i < count; i++) to[i] = first + i * step;
    }
    return PGY_OK;
}

#define ROW(version, definitions, accepted)                                                \
    {                                                                                      \
        .name = "Range", .domain = "", .since = version, .min_inputs = 3, .max_inputs = 3, \
        .min_outputs = 1, .max_outputs = 1, .flags = OP_SAME_TYPES, .attrs = definitions,  \
        .types = accepted, .infer = infer, .eval = eval                                    \
    }

const op_def OP_range[] = {
    ROW(11, NULL, TYPES_RANGE),
    ROW(27, ATTRS_27, TYPES_RANGE " float16 bfloat16"),
    {0},
};
