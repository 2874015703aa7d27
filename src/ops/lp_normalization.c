/* SPDX-License-Identifier: Apache-2.0 */
/* LpNormalization: x / (sum |x|^p)^(1/p) along an axis, p being 1 or 2; a norm of zero gives zeros.
 */
#include <inttypes.h>
#include <math.h>

#include "ops/class_norm.h"

static const op_attr_def ATTRS[] = {
    {"axis", OP_ATTR_INT, false, "-1"},
    {"p", OP_ATTR_INT, false, "2", NULL, "1..2"},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    size_t axis = 0;
    int64_t p = op_attr_int(c->node, "p", 2);
    if (p != 1 && p != 2)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attribute p is %" PRId64 ", but must be 1 or 2", p);
    if (rank_known(c, 0)) {
        pgy_status st =
            op_axis(&axis, c->node, op_attr_int(c->node, "axis", -1), c->inputs[0].rank, err);
        if (st) return st;
    }
    op_set_like(c, 0, 0);
    return PGY_OK;
}

typedef struct lines {
    const op_eval *c;
    axis_view view;
    bool squares;
} lines;

static void run(size_t begin, size_t end, void *user)
{
    const lines *l = user;
    size_t step = l->view.inner, n = l->view.length;
    for (size_t i = begin; i < end; i++) {
        size_t at = i / step * n * step + i % step;
        const double *x = in_f64(l->c, 0) + at;
        double *y = out_f64(l->c, 0) + at, norm = 0;
        for (size_t j = 0; j < n; j++)
            norm += l->squares ? x[j * step] * x[j * step] : fabs(x[j * step]);
        if (l->squares) norm = sqrt(norm);
        for (size_t j = 0; j < n; j++) y[j * step] = norm == 0 ? 0 : x[j * step] / norm;
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    size_t axis = 0, rank = in_rank(c, 0);
    pgy_status st = inputs_check(c, "F", err);
    if (!st) st = op_axis(&axis, c->node, op_attr_int(c->node, "axis", -1), (int32_t)rank, err);
    if (st || !in_count(c, 0)) return st;
    lines l = {c, axis_view_of(in_shape(c, 0), rank, axis, axis + 1),
               op_attr_int(c->node, "p", 2) == 2};
    rows_run(l.view.outer * l.view.inner, l.view.length * 3, run, &l);
    return PGY_OK;
}

#define ROW(version, words)                                                                     \
    {                                                                                           \
        "LpNormalization", "", version, 0, 1, 1, 1, 1, 0, ATTRS, words, infer, eval, norm_flops \
    }
const op_def OP_lp_normalization[] = {ROW(1, TYPES_F3), ROW(22, TYPES_F4), {NULL}};
