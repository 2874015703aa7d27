/* SPDX-License-Identifier: Apache-2.0 */
/* CumSum: running sums along an axis, optionally without the element itself (exclusive) or from the
 * end (reverse). */
#include "ops/class_check.h"
#include "ops/class_rows.h"

static const op_attr_def ATTRS[] = {
    {"exclusive", OP_ATTR_INT, false, "0"},
    {"reverse", OP_ATTR_INT, false, "0"},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const int64_t *values = NULL;
    size_t count = 0, axis = 0;
    if (rank_known(c, 0) && op_input_constants(c, 1, &values, &count)) {
        if (count != 1)
            return op_error(c->node, err, PGY_E_SHAPE, "input 1 (axis) has %zu elements, not one",
                            count);
        pgy_status st = op_axis(&axis, c->node, values[0], c->inputs[0].rank, err);
        if (st) return st;
    }
    return op_infer_same(c, err);
}

typedef struct scan {
    const op_eval *c;
    axis_view view;
    bool exclusive, reverse;
} scan;

#define T double
#define NAME scan_f64
#include "ops/cum_sum.inc"
#undef T
#undef NAME
#define T uint64_t
#define NAME scan_u64
#include "ops/cum_sum.inc"
#undef T
#undef NAME

static pgy_status eval(op_eval *c, pgy_error *err)
{
    size_t axis = 0, rank = in_rank(c, 0);
    pgy_status st = inputs_check(c, "!I", err);
    if (!st && in_count(c, 1) != 1)
        st = op_error(c->node, err, PGY_E_SHAPE, "input 1 (axis) has %zu elements, not one",
                      in_count(c, 1));
    if (!st) st = op_axis(&axis, c->node, in_i64(c, 1)[0], (int32_t)rank, err);
    if (st) return st;
    scan s = {c, axis_view_of(in_shape(c, 0), rank, axis, axis + 1),
              op_attr_int(c->node, "exclusive", 0) != 0, op_attr_int(c->node, "reverse", 0) != 0};
    bool is_float = pgy_tensor_dtype(c->inputs[0].value) == PGY_F64;
    rows_run(s.view.outer * s.view.inner, s.view.length, is_float ? scan_f64 : scan_u64, &s);
    return PGY_OK;
}

#define ROW(version, words)                                                      \
    {                                                                            \
        "CumSum", "", version, 0, 2, 2, 1, 1, 0, ATTRS, words, infer, eval, NULL \
    }
const op_def OP_cum_sum[] = {ROW(11, TYPES_WIDE " float32 float64"), ROW(14, TYPES_W4), {NULL}};
