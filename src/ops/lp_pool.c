/* SPDX-License-Identifier: Apache-2.0 */
/* LpPool: (sum |x|^p)^(1/p) under the window, padding counting as zero. */
#include <inttypes.h>
#include <math.h>

#include "ops/class_pool.h"

static const op_attr_def ATTRS_2[] = {
    {"auto_pad", OP_ATTR_STRING, false, "NOTSET", "NOTSET SAME_UPPER SAME_LOWER VALID"},
    {"kernel_shape", OP_ATTR_INTS, true, NULL, NULL, "1.."},
    {"p", OP_ATTR_INT, false, "2", NULL, "1.."},
    {"pads", OP_ATTR_INTS, false, NULL, NULL, "0.."},
    {"strides", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {NULL},
};

static const op_attr_def ATTRS_18[] = {
    {"auto_pad", OP_ATTR_STRING, false, "NOTSET", "NOTSET SAME_UPPER SAME_LOWER VALID"},
    {"ceil_mode", OP_ATTR_INT, false, "0"},
    {"dilations", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {"kernel_shape", OP_ATTR_INTS, true, NULL, NULL, "1.."},
    {"p", OP_ATTR_INT, false, "2", NULL, "1.."},
    {"pads", OP_ATTR_INTS, false, NULL, NULL, "0.."},
    {"strides", OP_ATTR_INTS, false, NULL, NULL, "1.."},
    {NULL},
};

static double power(double x, double p)
{
    if (p == 2) return x * x;
    return p == 1 ? fabs(x) : pow(fabs(x), p);
}

static double root(double x, double p)
{
    if (p == 2) return sqrt(x);
    return p == 1 ? x : pow(x, 1 / p);
}

static void lp_row(const pool_problem *p, size_t plane, size_t row)
{
    const window *w = &p->window;
    size_t last = w->rank - 1, taps = window_taps(w);
    const double *x = in_f64(p->c, 0) + plane * window_in_count(w);
    double *y = out_f64(p->c, 0) + (plane * window_out_rows(w) + row) * (size_t)w->out[last];
    for (int64_t i = 0; i < w->out[last]; i++) y[i] = 0;
    for (size_t tap = 0; tap < taps; tap++) {
        size_t in_row;
        if (!window_row(w, row, tap, &in_row)) continue;
        const double *line = x + in_row * (size_t)w->in[last];
        for (int64_t t = 0; t < w->kernel[last]; t++) {
            int64_t lo, hi, from, stride = w->stride[last];
            window_columns(w, t, &lo, &hi, &from);
            for (int64_t i = lo; i < hi; i++, from += stride) y[i] += power(line[from], p->p);
        }
    }
    for (int64_t i = 0; i < w->out[last]; i++) y[i] = root(y[i], p->p);
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pool_problem p;
    int64_t order = op_attr_int(c->node, "p", 2);
    pgy_status st = inputs_check(c, "F", err);
    if (!st) st = pool_prepare(&p, c, err);
    if (st) return st;
    if (order < 1)
        return op_error(c->node, err, PGY_E_ARGUMENT,
                        "attribute p is %" PRId64 ", but must be positive", order);
    p.p = (double)order;
    pool_run(&p, lp_row);
    return PGY_OK;
}

#define ROW(version, attrs, words)                                                          \
    {                                                                                       \
        "LpPool", "", version, 0, 1, 1, 1, 1, 0, attrs, words, pool_infer, eval, pool_flops \
    }
const op_def OP_lp_pool[] = {
    ROW(2, ATTRS_2, TYPES_F3),
    ROW(11, ATTRS_2, TYPES_F3),
    ROW(18, ATTRS_18, TYPES_F3),
    ROW(22, ATTRS_18, TYPES_F4),
    {NULL},
};
