/* SPDX-License-Identifier: Apache-2.0 */
/* com.microsoft MaxpoolWithMask: MaxPool that reads a row of a window up to the first element whose
 * mask is 0. As in ONNX Runtime, the first element of a plane is never masked, and a window without
 * elements gives the lowest float32. */
#include <float.h>

#include "ops/class_pool.h"

enum { X, MASK };

static const op_attr_def ATTRS[] = {
    {"auto_pad", OP_ATTR_STRING, false, "NOTSET", "NOTSET SAME_UPPER SAME_LOWER VALID"},
    {"kernel_shape", OP_ATTR_INTS, true, NULL, NULL, "1.."},
    {"pads", OP_ATTR_INTS, false, NULL, NULL, "0.."},
    {"storage_order", OP_ATTR_INT, false, "0", NULL, "0..1"},
    {"strides", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {NULL},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_value *x = &c->inputs[X];
    pgy_status st = pool_infer(c, err);
    if (!st && rank_known(c, X)) st = rank_check(c, MASK, x->rank, x->rank, err);
    for (int32_t d = 2; !st && rank_known(c, MASK) && d < x->rank; d++)
        st = dim_check(c, MASK, (size_t)d, x->dims[d], "the input", err);
    return st;
}

static void row(const pool_problem *p, size_t plane, size_t at)
{
    const window *w = &p->window;
    const size_t last = w->rank - 1, taps = window_taps(w), size = window_in_count(w);
    const int64_t *shape = in_shape(p->c, MASK);
    const double *x = in_f64(p->c, X) + plane * size;
    /* ONNX Runtime, which alone defines the operator, takes the remainder of an element's number */
    const int64_t *mask = in_i64(p->c, MASK) + plane * size % (size_t)(shape[0] * shape[1]);
    double *y = out_f64(p->c, 0) + (plane * window_out_rows(w) + at) * (size_t)w->out[last];
    for (int64_t i = 0; i < w->out[last]; i++) {
        y[i] = -FLT_MAX;
        for (size_t tap = 0; tap < taps; tap++) {
            size_t in_row;
            if (!window_row(w, at, tap, &in_row)) continue;
            for (int64_t t = 0; t < w->kernel[last]; t++) {
                const int64_t column = i * w->stride[last] - w->begin[last] + t;
                if (column < 0 || column >= w->in[last]) continue;
                const size_t from = in_row * (size_t)w->in[last] + (size_t)column;
                if (from && !mask[from]) break;
                if (x[from] > y[i]) y[i] = x[from];
            }
        }
    }
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pool_problem p;
    pgy_status st = inputs_check(c, "FI", err);
    if (!st) st = pool_prepare(&p, c, err);
    if (st || !out_count(c, 0)) return st;
    if (!in_count(c, MASK))
        return op_error(c->node, err, PGY_E_SHAPE, "input 1 (mask) has no planes");
    pool_run(&p, row);
    return PGY_OK;
}

const op_def OP_maxpool_with_mask[] = {
    {"MaxpoolWithMask", "com.microsoft", 1, 0, 2, 2, 1, 1, 0, ATTRS, "float32", infer, eval,
     pool_flops, .signature = "T = float32; X:T, M:int32 -> Y:T"},
    {NULL},
};
