/* SPDX-License-Identifier: Apache-2.0 */
/* Shape rule and rows of Softmax, LogSoftmax and Hardmax. */
#include "ops/class_softmax.h"

#include <math.h>

#include "ops/class_rows.h"
#include "ops/vmath.h"

const op_attr_def softmax_attrs_1[] = {{"axis", OP_ATTR_INT, false, "1"}, {NULL}};
const op_attr_def softmax_attrs_13[] = {{"axis", OP_ATTR_INT, false, "-1"}, {NULL}};

/* Reads attribute axis. Since version 13 a scalar is one row; the flattening of older versions
 * needs an axis. */
static pgy_status find_axis(size_t *axis, const op_node *n, int32_t rank, pgy_error *err)
{
    int64_t given = op_attr_int(n, "axis", -1);
    if (rank == 0 && n->def->since >= 13 && (given == 0 || given == -1)) {
        *axis = 0;
        return PGY_OK;
    }
    return op_axis(axis, n, given, rank, err);
}

pgy_status softmax_infer(op_infer *c, pgy_error *err)
{
    size_t axis;
    if (rank_known(c, 0)) {
        pgy_status st = find_axis(&axis, c->node, c->inputs[0].rank, err);
        if (st) return st;
    }
    return op_infer_same(c, err);
}

double softmax_flops(const op_infer *c)
{
    return 5 * dims_product(&c->inputs[0]);
}

typedef struct rows_of {
    const double *x;
    double *y;
    axis_view view;
    softmax_row row;
    pgy_dtype type;
} rows_of;

static void run_rows(size_t begin, size_t end, void *user)
{
    const rows_of *r = user;
    for (size_t i = begin; i < end; i++) {
        size_t at = i / r->view.inner * r->view.length * r->view.inner + i % r->view.inner;
        r->row(r->y + at, r->x + at, r->view.length, r->view.inner, r->type);
    }
}

pgy_status softmax_run(op_eval *c, softmax_row row, pgy_error *err)
{
    size_t axis = 0, rank = in_rank(c, 0);
    pgy_status st = inputs_check(c, "F", err);
    if (!st) st = find_axis(&axis, c->node, (int32_t)rank, err);
    if (st || !in_count(c, 0)) return st;
    rows_of r = {in_f64(c, 0), out_f64(c, 0), axis_view_of(in_shape(c, 0), rank, axis, axis + 1),
                 row, softmax_type(c, 0)};
    if (c->node->def->since < 13) r.view = axis_view_of(in_shape(c, 0), rank, axis, rank);
    rows_run(r.view.outer * r.view.inner, r.view.length * 16, run_rows, &r);
    return PGY_OK;
}

/* Softmax of a contiguous row, without intermediate rounding. */
static void exp_row(double *y, const double *x, size_t n, double top)
{
    for (size_t i = 0; i < n; i++) y[i] = x[i] - top;
    vmath_exp(y, y, n);
    const double sum = row_sum(y, n);
    for (size_t i = 0; i < n; i++) y[i] /= sum;
}

void softmax_exp(double *y, const double *x, size_t n, size_t step, pgy_dtype type)
{
    double top = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++)
        top = x[i * step] > top || isnan(x[i * step]) ? x[i * step] : top;
    if (step == 1 && !type) {
        exp_row(y, x, n, top);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        double e = x[i * step] - top;
        e = type ? softmax_round(type, exp(softmax_round(type, e))) : exp(e);
        y[i * step] = e;
        sum = type ? softmax_round(type, sum + e) : sum + e;
    }
    for (size_t i = 0; i < n; i++) y[i * step] /= sum;
}
