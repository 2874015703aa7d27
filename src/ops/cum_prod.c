/* SPDX-License-Identifier: Apache-2.0 */
/* CumProd: running products along an axis, optionally without the element itself (exclusive) or
 * from the end (reverse). */
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

typedef struct product {
    const op_eval *c;
    axis_view view;
    bool exclusive, reverse;
} product;

#define T double
#define NAME product_f64
#include "ops/cum_prod.inc"
#undef T
#undef NAME
#define T uint64_t
#define NAME product_u64
#include "ops/cum_prod.inc"
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
    product p = {c, axis_view_of(in_shape(c, 0), rank, axis, axis + 1),
                 op_attr_int(c->node, "exclusive", 0) != 0,
                 op_attr_int(c->node, "reverse", 0) != 0};
    const bool is_float = pgy_tensor_dtype(c->inputs[0].value) == PGY_F64;
    rows_run(p.view.outer * p.view.inner, p.view.length, is_float ? product_f64 : product_u64, &p);
    return PGY_OK;
}

const op_def OP_cum_prod[] = {
    {"CumProd", "", 26, 0, 2, 2, 1, 1, 0, ATTRS, TYPES_W4, infer, eval, NULL},
    {NULL},
};
