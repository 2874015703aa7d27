/* SPDX-License-Identifier: Apache-2.0 */
/* Running sums and products along an axis, optionally without the element itself (exclusive) or
 * from the end (reverse). Integers wrap like unsigned ones, so results are exact modulo 2^64. */
#include "ops/class_running.h"

#include "ops/class_check.h"
#include "ops/class_rows.h"

const op_attr_def RUNNING_ATTRS[] = {
    {"exclusive", OP_ATTR_INT, false, "0", NULL, "0..1"},
    {"reverse", OP_ATTR_INT, false, "0", NULL, "0..1"},
    {NULL},
};

static pgy_status not_one(const op_node *n, size_t count, pgy_error *err)
{
    return op_error(n, err, PGY_E_SHAPE, "input 1 (axis) has %zu elements, not one", count);
}

pgy_status running_infer(op_infer *c, pgy_error *err)
{
    const int64_t *values = NULL;
    size_t count = 0, axis = 0;
    if (rank_known(c, 0) && op_input_constants(c, 1, &values, &count)) {
        if (count != 1) return not_one(c->node, count, err);
        pgy_status st = op_axis(&axis, c->node, values[0], c->inputs[0].rank, err);
        if (st) return st;
    }
    return op_infer_same(c, err);
}

typedef struct running {
    const op_eval *c;
    axis_view view;
    bool exclusive, reverse;
} running;

#define START 0
#define JOIN +
#define T double
#define NAME sum_f64
#include "ops/running.inc"
#define T uint64_t
#define NAME sum_u64
#include "ops/running.inc"
#undef START
#undef JOIN
#define START 1
#define JOIN *
#define T double
#define NAME product_f64
#include "ops/running.inc"
#define T uint64_t
#define NAME product_u64
#include "ops/running.inc"
#undef START
#undef JOIN

pgy_status running_eval(op_eval *c, pgy_error *err)
{
    static const rows_task TASKS[][2] = {
        [RUNNING_SUM] = {sum_u64, sum_f64}, [RUNNING_PRODUCT] = {product_u64, product_f64}};
    size_t axis = 0, rank = in_rank(c, 0);
    pgy_status st = inputs_check(c, "!I", err);
    if (!st && in_count(c, 1) != 1) st = not_one(c->node, in_count(c, 1), err);
    if (!st) st = op_axis(&axis, c->node, in_i64(c, 1)[0], (int32_t)rank, err);
    if (st) return st;
    running r = {c, axis_view_of(in_shape(c, 0), rank, axis, axis + 1),
                 op_attr_int(c->node, "exclusive", 0) != 0,
                 op_attr_int(c->node, "reverse", 0) != 0};
    const bool is_float = pgy_tensor_dtype(c->inputs[0].value) == PGY_F64;
    rows_run(r.view.outer * r.view.inner, r.view.length, TASKS[c->node->def->user][is_float], &r);
    return PGY_OK;
}
