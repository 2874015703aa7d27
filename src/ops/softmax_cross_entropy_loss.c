/* SPDX-License-Identifier: Apache-2.0 */
/* SoftmaxCrossEntropyLoss: the negative log-likelihood of the log-softmax over axis 1, which is
 * output 1. */
#include <math.h>

#include "base/alloc.h"
#include "ops/class_loss.h"
#include "ops/class_rows.h"

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const pgy_status st = loss_infer(c, err);
    if (!st && c->node->output_count > 1) op_set_like(c, 1, 0);
    return st;
}

typedef struct rows {
    const double *x;
    double *y;
    size_t length, step;
} rows;

static void log_softmax(size_t begin, size_t end, void *user)
{
    const rows *r = user;
    for (size_t i = begin; i < end; i++) {
        const size_t at = i / r->step * r->length * r->step + i % r->step;
        const double *x = r->x + at;
        double most = -INFINITY, sum = 0;
        for (size_t k = 0; k < r->length; k++) most = fmax(most, x[k * r->step]);
        for (size_t k = 0; k < r->length; k++) sum += exp(x[k * r->step] - most);
        for (size_t k = 0; k < r->length; k++)
            r->y[at + k * r->step] = x[k * r->step] - most - log(sum);
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    double *work = NULL;
    pgy_status st = inputs_check(c, "FIf", err);
    if (st) return st;
    double *log_prob = out_f64(c, 1);
    if (!log_prob) {
        st = workspace_alloc((void **)&work, c, in_count(c, 0), sizeof *work, err);
        if (st) return st;
        log_prob = work;
    }
    const axis_view v = axis_view_of(in_shape(c, 0), in_rank(c, 0), 1, 2);
    rows r = {in_f64(c, 0), log_prob, v.length, v.inner};
    rows_run(v.outer * v.inner, v.length * 20, log_softmax, &r);
    st = loss_run(c, log_prob, err);
    mem_free(work);
    return st;
}

#define ROW(version, words)                                                                       \
    {                                                                                             \
        "SoftmaxCrossEntropyLoss", "", version, 0, 2, 3, 1, 2, 0, loss_attrs, words, infer, eval, \
            NULL                                                                                  \
    }
const op_def OP_softmax_cross_entropy_loss[] = {ROW(12, TYPES_F3), ROW(13, TYPES_F4), {NULL}};
